//! Stores the ControllerRevisions of an owner.

use std::sync::Arc;

use serde_json::Value;

use super::task::Requeue;
use crate::{
    cluster::{ClusterState, create::Created, owners::ObjectId},
    object::meta,
    scheme::Resource,
    storage::{Stored, WriteError},
    workloads::{HistoryStep, plan_history, selects, surplus_revisions},
};

/// The revisions of an owner.
#[derive(Debug)]
pub(super) struct History {
    stored: Vec<Arc<Stored>>,
    pub(super) revisions: Vec<Value>,
    /// The index of the revision of the current template.
    pub(super) newest: usize,
}

/// What became of the revision of the current template.
#[derive(Debug)]
enum Recorded {
    History(History),
    /// Another object has its name.
    Collision,
    /// It was refused, or the namespace takes no new objects.
    Refused,
}

impl History {
    pub(super) fn find(&self, name: &str) -> Option<&Value> {
        self.revisions.iter().find(|revision| meta::name(revision) == name)
    }
}

impl ClusterState {
    /// The history of an owner, whose newest revision is its current template, or what is left to do for that.
    pub(super) fn recorded_history(
        &mut self,
        resource: &Resource,
        id: &ObjectId,
        owner: &Value,
    ) -> Result<Result<History, Requeue>, WriteError> {
        let refused = match self.record_history(owner)? {
            Recorded::History(history) => return Ok(Ok(history)),
            Recorded::Collision => {
                self.count_collision(resource, id, owner)?;
                false
            }
            Recorded::Refused => true,
        };
        Ok(Err(Requeue { after: None, refused }))
    }

    /// Makes the current template of an owner its newest revision.
    fn record_history(&mut self, owner: &Value) -> Result<Recorded, WriteError> {
        let Some(resource) = self.storage.resource("apps", "controllerrevisions") else {
            return Ok(Recorded::Refused);
        };
        let mut stored = self.claimed(owner, "apps", "controllerrevisions")?;
        let mut revisions: Vec<Value> = stored.iter().map(|stored| stored.value()).collect();
        let newest = match plan_history(owner, &revisions) {
            HistoryStep::Keep(at) => at,
            HistoryStep::Renumber(at, number) => {
                revisions[at]["revision"] = number.into();
                self.put(&resource, stored[at].key.clone(), revisions[at].clone())?;
                at
            }
            // A selector by a label of revisions would release each, and create the next one for ever.
            HistoryStep::Create(revision) if !selects(owner, &revision) => return Ok(Recorded::Refused),
            HistoryStep::Create(revision) => {
                let created = match self.create("apps", "controllerrevisions", revision)? {
                    Created::Stored(created) => created,
                    Created::Exists => return Ok(Recorded::Collision),
                    Created::Terminating | Created::Refused(_) => return Ok(Recorded::Refused),
                };
                revisions.push(created.value());
                stored.push(created);
                revisions.len() - 1
            }
        };
        Ok(Recorded::History(History { stored, revisions, newest }))
    }

    /// Deletes the oldest revisions beyond the limit of their owner, without those in use.
    pub(super) fn truncate_history(
        &mut self,
        owner: &Value,
        history: &History,
        in_use: impl Fn(&Value) -> bool,
    ) -> Result<(), WriteError> {
        for at in surplus_revisions(owner, &history.revisions, in_use) {
            self.delete_owned("apps", "controllerrevisions", &history.stored[at].key)?;
        }
        Ok(())
    }
}
