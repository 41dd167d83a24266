//! Stores the ControllerRevisions of an owner.

use std::sync::Arc;

use serde_json::Value;

use super::{run::collisions_after, task::Requeue};
use crate::{
    cluster::{ClusterState, create::Created},
    object::meta,
    scheme::Resource,
    storage::{Key, Stored, WriteError},
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

impl History {
    pub(super) fn find(&self, name: &str) -> Option<&Value> {
        self.revisions.iter().find(|revision| meta::name(revision) == name)
    }
}

impl ClusterState {
    /// Makes the current template of an owner its newest revision. Returns its history, or what is left to do for that.
    pub(super) fn recorded_history(
        &mut self,
        of: &Resource,
        key: &Key,
        owner: &Value,
    ) -> Result<Result<History, Requeue>, WriteError> {
        const REFUSED: Requeue = Requeue { after: None, refused: true };
        let Some(resource) = self.storage.resource("apps", "controllerrevisions") else {
            return Ok(Err(REFUSED));
        };
        let mut stored = self.claimed(owner, "apps", "controllerrevisions")?;
        let mut revisions: Vec<Value> = stored.iter().map(|stored| stored.value()).collect();
        let newest = match plan_history(owner, &revisions) {
            HistoryStep::Keep(at) => at,
            HistoryStep::Renumber(at, number) => {
                revisions[at]["revision"] = number.into();
                if self.update(&resource, &stored[at].key, revisions[at].clone())?.is_err() {
                    return Ok(Err(REFUSED));
                }
                at
            }
            // A selector by a label of revisions would release each, and create the next one for ever.
            HistoryStep::Create(revision) if !selects(owner, &revision) => return Ok(Err(REFUSED)),
            HistoryStep::Create(revision) => match self.create("apps", "controllerrevisions", revision)? {
                Created::Stored(created) => {
                    revisions.push(created.value());
                    stored.push(created);
                    revisions.len() - 1
                }
                // The write of the status starts the next attempt, with another name.
                Created::Exists => {
                    let mut status = owner["status"].clone();
                    status["collisionCount"] = collisions_after(owner).into();
                    self.write_status(of, key, owner, status)?;
                    return Ok(Err(Requeue::default()));
                }
                Created::Terminating | Created::Refused(_) => return Ok(Err(REFUSED)),
            },
        };
        Ok(Ok(History { stored, revisions, newest }))
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
