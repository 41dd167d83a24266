//! Deletes the members that are no longer in the set, each only in the state that was read.

use std::cmp::Reverse;
use std::collections::{BTreeSet, VecDeque};

use futures::{StreamExt, stream};
use kube_client::error::{Error, ErrorClass};
use kube_core::metadata::PartialObjectMeta;
use kube_core::params::{DeleteParams, Preconditions};
use kube_core::{ApiResource, DynamicObject};

use super::error::{ApplySetError, PruneFailure};
use super::object::PrunedObject;
use super::parent::api;
use super::plan::{self, Fate};
use super::session::{Applying, CONCURRENCY, Finished, Listed, MAX_ATTEMPTS};
use super::set::PART_OF;
use crate::kind_order::position;

/// A member to delete, in this version.
struct Doomed {
    object: PrunedObject,
    version: Option<String>,
    /// How often it was read again because it had changed.
    changes: usize,
}

/// The state of the deletions.
struct Deletions<'a> {
    applied: &'a BTreeSet<&'a str>,
    doomed: VecDeque<Doomed>,
    done: Finished,
    failures: Vec<PruneFailure>,
}

impl Applying {
    /// Deletes those members that are not among the uids `applied`, as long as no other run begins.
    pub(super) async fn delete_members(
        &mut self,
        members: Listed,
        applied: &BTreeSet<&str>,
    ) -> Result<Finished, ApplySetError> {
        let (doomed, done) = (VecDeque::new(), Finished::default());
        let mut deletions = Deletions { applied, doomed, done, failures: Vec::new() };
        for (resource, member) in members {
            deletions.judge(resource, member, self.parent.uid.as_deref(), 0);
        }
        deletions.doomed.make_contiguous().sort_by_key(|Doomed { object, .. }| {
            let ApiResource { group, kind, .. } = &object.resource;
            (Reverse(position(group, kind)), object.to_string())
        });
        let mut is_first = true;
        while !deletions.doomed.is_empty() {
            // After the members were read: what a later run applies before this is seen here, and what it applies after this changes
            // their versions.
            if let Some(by) = self.overtaken_by(is_first).await? {
                if let Err(err) = self.record(BTreeSet::new()).await {
                    tracing::warn!(error = %err, "what was applied could not be recorded in the apply set");
                }
                let (parent, pruned) = (self.set.to_string(), deletions.done.pruned);
                return Err(ApplySetError::Overtaken { parent, by, pruned });
            }
            is_first = false;
            self.delete_some(&mut deletions).await;
        }
        let Deletions { done, failures, .. } = deletions;
        match failures.is_empty() {
            true => Ok(done),
            false => Err(ApplySetError::Prune { pruned: done.pruned, failures }),
        }
    }

    /// Deletes the next ones.
    async fn delete_some(&self, deletions: &mut Deletions<'_>) {
        let next: Vec<Doomed> = deletions.doomed.drain(..CONCURRENCY.min(deletions.doomed.len())).collect();
        let mut changed = Vec::new();
        let mut results = stream::iter(next).map(|doomed| self.delete(doomed)).buffered(CONCURRENCY);
        while let Some((doomed, result)) = results.next().await {
            match result {
                Ok(()) => deletions.done.pruned.push(doomed.object),
                Err(err) if err.is_conflict() && doomed.changes < MAX_ATTEMPTS => changed.push(doomed),
                Err(err) => deletions.failed(doomed.object, err),
            }
        }
        drop(results);
        for Doomed { object, changes, .. } in changed {
            let api = api(&self.client, &object.resource, object.namespace.as_deref());
            match api.get_metadata(&object.name).await {
                Ok(member) if self.has(&member) => {
                    deletions.judge(object.resource, member, self.parent.uid.as_deref(), changes + 1);
                }
                Ok(_) => {
                    tracing::info!(%object, "someone has taken an object out of the apply set; it is kept")
                }
                Err(err) if is_gone(&err) => deletions.done.pruned.push(object),
                Err(err) => deletions.failed(object, err),
            }
        }
    }

    async fn delete(&self, doomed: Doomed) -> (Doomed, Result<(), Error>) {
        let Doomed { object, version, .. } = &doomed;
        let api = api(&self.client, &object.resource, object.namespace.as_deref());
        let params = DeleteParams {
            dry_run: self.set.dry_run,
            // Not another object that was given the same name since, nor one that someone has changed: to keep it, or because another
            // program, or a later run, wants it.
            preconditions: Some(Preconditions {
                uid: Some(object.uid.clone()).filter(|uid| !uid.is_empty()),
                resource_version: version.clone(),
            }),
            ..DeleteParams::background()
        };
        let result = match api.delete(&object.name, &params).await {
            Ok(_) => Ok(()),
            // Someone else was faster.
            Err(err) if is_gone(&err) => Ok(()),
            Err(err) => Err(err),
        };
        (doomed, result)
    }

    /// Whether the object has the label of the set.
    fn has(&self, member: &PartialObjectMeta<DynamicObject>) -> bool {
        let label = member.metadata.labels.as_ref().and_then(|labels| labels.get(PART_OF));
        label.is_some_and(|id| *id == self.set.id())
    }
}

/// A path that is not served says nothing of its objects.
fn is_gone(error: &Error) -> bool {
    ErrorClass::of(error) == ErrorClass::NotFound
}

impl Deletions<'_> {
    fn judge(
        &mut self,
        resource: ApiResource,
        member: PartialObjectMeta<DynamicObject>,
        parent_uid: Option<&str>,
        changes: usize,
    ) {
        let fate = plan::fate(&member, self.applied, parent_uid);
        let version = member.metadata.resource_version.clone();
        let object = PrunedObject::new(resource, member.metadata);
        match fate {
            Fate::Keep => {}
            Fate::Delete => self.doomed.push_front(Doomed { object, version, changes }),
            Fate::Owned { owner } => self.done.owned.push((object, owner)),
        }
    }

    fn failed(&mut self, object: PrunedObject, err: Error) {
        self.failures.push(PruneFailure { object, source: err.into() });
    }
}
