use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::{ClusterState, task::Task};
use crate::{
    meta,
    scheme::{Resource, crd},
    store::{Key, Stored},
};

/// The finalizers by which an owner waits for the garbage collector.
pub(super) const FOREGROUND: &str = "foregroundDeletion";
const ORPHAN: &str = "orphan";

/// What becomes of the dependents of a deleted object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Propagation {
    Background,
    Foreground,
    Orphan,
}

/// What a deletion did at once.
#[derive(Clone, Debug)]
pub(crate) enum Deletion {
    /// The object is gone; this was its last version.
    Removed(Arc<Stored>),
    /// The object is marked and waits for its finalizers.
    Marked(Arc<Stored>),
}

impl ClusterState {
    /// Deletes an object, or marks it when somebody has to finish first. `None` when it is not there.
    /// Without a propagation policy, finalizers of the garbage collector that are on the object decide.
    pub(crate) fn delete(
        &mut self,
        resource: &Resource,
        key: &Key,
        policy: Option<Propagation>,
    ) -> Option<Deletion> {
        self.delete_gracefully(resource, key, policy, None)
    }

    /// A pod on a node gets `grace` seconds to end, or as many as it says itself.
    pub(crate) fn delete_gracefully(
        &mut self,
        resource: &Resource,
        key: &Key,
        policy: Option<Propagation>,
        grace: Option<i64>,
    ) -> Option<Deletion> {
        let stored = self.store.get(resource.table, key)?.clone();
        let before = stored.value();
        let mut object = before.clone();
        set_propagation(&mut object, policy);
        if resource.is("apiextensions.k8s.io", "customresourcedefinitions") {
            self.add_cleanup_finalizer(&mut object);
        }
        let grace = self.grace_seconds(resource, &object, grace);
        if grace == 0 && self.can_remove(resource, &object) {
            return self.remove(resource, key).map(Deletion::Removed);
        }
        mark_deleting(&mut object, &self.timestamp_after(grace), grace);
        if resource.is("", "namespaces") {
            object["status"]["phase"] = "Terminating".into();
        }
        let stored = if object == before { stored } else { self.put(resource, key.clone(), object.clone()) };
        self.start_deletion(resource, &stored, &object);
        Some(Deletion::Marked(stored))
    }

    /// Writes a changed object, or removes it when the change was the last that its deletion waited for.
    /// `Err` holds the last version that was stored.
    pub(crate) fn put_or_remove(
        &mut self,
        resource: &Resource,
        key: Key,
        object: Value,
    ) -> Result<Arc<Stored>, Arc<Stored>> {
        if meta::is_deleting(&object)
            && meta::grace(&object) == 0
            && self.can_remove(resource, &object)
            && let Some(last) = self.remove(resource, &key)
        {
            return Err(last);
        }
        Ok(self.put(resource, key, object))
    }

    /// How long an object may take to end. Only pods take any time, and only where somebody runs them: those on a node that
    /// does not exist end at once, for nobody would report their end.
    fn grace_seconds(&self, resource: &Resource, object: &Value, asked: Option<i64>) -> i64 {
        let nodes = self.scheme.by_plural("", "nodes").map(|endpoint| endpoint.resource.table);
        let node = object["spec"]["nodeName"].as_str().filter(|_| resource.is("", "pods"));
        let runs = nodes
            .zip(node)
            .is_some_and(|(table, node)| self.store.get(table, &Key::new(None, node)).is_some());
        if !runs || matches!(object["status"]["phase"].as_str(), Some("Succeeded" | "Failed")) {
            return 0;
        }
        let own = object["spec"]["terminationGracePeriodSeconds"].as_i64().unwrap_or(30);
        // As genuine servers do, what is below nothing counts as the least.
        let grace = asked.unwrap_or(own);
        if grace < 0 { 1 } else { grace }
    }

    /// The time in so many seconds.
    fn timestamp_after(&self, seconds: i64) -> String {
        let later = self.clock.timestamp().checked_add(SignedDuration::from_secs(seconds));
        later.unwrap_or(Timestamp::MAX).strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
    }

    fn can_remove(&self, resource: &Resource, object: &Value) -> bool {
        let held_by_spec = resource.is("", "namespaces")
            && object["spec"]["finalizers"].as_array().is_some_and(|finalizers| !finalizers.is_empty());
        meta::strings(object, "finalizers").is_empty() && !held_by_spec
    }

    fn add_cleanup_finalizer(&self, definition: &mut Value) {
        let Some(resource) = self.defined_by(definition) else { return };
        let mut finalizers: Vec<String> =
            meta::strings(definition, "finalizers").into_iter().map(Into::into).collect();
        if self.store.objects(resource.table, None).next().is_some()
            && !finalizers.iter().any(|f| f == crd::CLEANUP)
        {
            finalizers.push(crd::CLEANUP.into());
            meta::set_finalizers(definition, finalizers.iter().map(String::as_str));
        }
    }

    /// Starts what a marked object waits for, as far as it is the server's own work.
    fn start_deletion(&mut self, resource: &Resource, stored: &Stored, object: &Value) {
        let finalizers = meta::strings(object, "finalizers");
        if finalizers.contains(&ORPHAN) {
            self.orphan_dependents(resource, stored, object);
        } else if finalizers.contains(&FOREGROUND) {
            for dependent in self.owners.dependents(&stored.uid) {
                self.enqueue(Task::CheckOwners(dependent));
            }
            self.enqueue(Task::FinishForeground(stored.uid.to_string()));
        }
        if resource.is("", "persistentvolumeclaims") || resource.is("", "persistentvolumes") {
            self.enqueue(Task::FreeStorage((resource.table, stored.key.clone())));
        }
        if resource.is("", "namespaces") {
            self.enqueue(Task::EmptyNamespace(stored.key.name().into()));
        }
        if let Some(table) = self.defined_by(object).map(|defined| defined.table)
            && finalizers.contains(&crd::CLEANUP)
        {
            self.enqueue(Task::EmptyResource(table));
        }
    }

    fn orphan_dependents(&mut self, resource: &Resource, owner: &Stored, object: &Value) {
        for (table, key) in self.owners.dependents(&owner.uid) {
            self.drop_references(table, &key, &[owner.uid.to_string()]);
        }
        self.drop_finalizer(resource, &owner.key, object, ORPHAN);
    }

    /// Takes one finalizer off an object; the last one takes the object with it.
    pub(super) fn drop_finalizer(&mut self, resource: &Resource, key: &Key, object: &Value, finalizer: &str) {
        let mut object = object.clone();
        let left: Vec<String> = meta::strings(&object, "finalizers")
            .into_iter()
            .filter(|f| *f != finalizer)
            .map(Into::into)
            .collect();
        meta::set_finalizers(&mut object, left.iter().map(String::as_str));
        // Either way the object is as it should be now.
        drop(self.put_or_remove(resource, key.clone(), object));
    }
}

fn set_propagation(object: &mut Value, policy: Option<Propagation>) {
    let Some(policy) = policy else { return };
    let mut finalizers: Vec<String> = meta::strings(object, "finalizers")
        .into_iter()
        .filter(|f| *f != FOREGROUND && *f != ORPHAN)
        .map(Into::into)
        .collect();
    match policy {
        Propagation::Background => {}
        Propagation::Foreground => finalizers.push(FOREGROUND.into()),
        Propagation::Orphan => finalizers.push(ORPHAN.into()),
    }
    meta::set_finalizers(object, finalizers.iter().map(String::as_str));
}

/// Sets the deletion timestamp; from then on the object can only go. A second time it can only be brought forward.
fn mark_deleting(object: &mut Value, at: &str, grace: i64) {
    let again = meta::is_deleting(object);
    if again && grace >= meta::grace(object) {
        return;
    }
    meta::set(object, "deletionTimestamp", at);
    meta::set(object, "deletionGracePeriodSeconds", grace);
    if again {
        return;
    }
    if let Some(generation) = object["metadata"]["generation"].as_i64().filter(|g| *g > 0) {
        meta::set(object, "generation", generation + 1);
    }
}
