//! Deletes objects: finalizers, grace periods, propagation.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::{
    ClusterState,
    owners::{FOREGROUND, ORPHAN, ObjectId},
};
use crate::{
    crd,
    object::meta,
    route::Propagation,
    scheme::Resource,
    storage::{Key, Stored, WriteError},
};

/// What became of a changed object.
#[derive(Clone, Debug)]
pub(crate) enum Written {
    Stored(Arc<Stored>),
    /// It was removed; this is its last version.
    Removed(Arc<Stored>),
}

/// The immediate result of a deletion.
#[derive(Clone, Debug)]
pub(crate) enum Deletion {
    /// The object was removed; this is its last version.
    Removed(Arc<Stored>),
    /// The object has a deletion timestamp and waits for its finalizers or its grace period.
    Marked(Arc<Stored>),
}

impl ClusterState {
    /// Deletes an object, or marks it for deletion when finalizers or a grace period hold it. `None` when it does not exist. Without a
    /// propagation policy, the finalizers of the garbage collector on the object decide.
    pub(crate) fn delete(
        &mut self,
        resource: &Resource,
        key: &Key,
        policy: Option<Propagation>,
    ) -> Result<Option<Deletion>, WriteError> {
        self.delete_gracefully(resource, key, policy, None)
    }

    /// Like [`delete`](Self::delete), with a grace period for pods: `grace` seconds, else `terminationGracePeriodSeconds`.
    pub(crate) fn delete_gracefully(
        &mut self,
        resource: &Resource,
        key: &Key,
        policy: Option<Propagation>,
        grace: Option<i64>,
    ) -> Result<Option<Deletion>, WriteError> {
        let Some(stored) = self.storage.store.get(resource.table, key).cloned() else { return Ok(None) };
        let before = stored.value();
        let mut object = before.clone();
        set_propagation(&mut object, policy);
        if resource.is_definition() {
            self.add_cleanup_finalizer(&mut object);
        }
        let grace = self.grace_seconds(resource, &object, grace);
        if grace == 0 && self.can_remove(resource, &object) {
            return Ok(self.remove(resource, key)?.map(Deletion::Removed));
        }
        mark_deleting(&mut object, &self.timestamp_after(grace), grace);
        if resource.is("", "namespaces") {
            // Their controller, not a grace period, ends the deletion.
            meta::set(&mut object, "deletionGracePeriodSeconds", Value::Null);
            object["status"]["phase"] = "Terminating".into();
        }
        if resource.is_definition() && meta::strings(&object, "finalizers").contains(&crd::CLEANUP) {
            crd::terminate(&mut object, &self.now());
        }
        let stored = if object == before { stored } else { self.put(resource, key.clone(), object.clone())? };
        self.work.start_deletion(&self.storage, resource, &stored);
        Ok(Some(Deletion::Marked(stored)))
    }

    /// Stores a changed object, or removes it when nothing holds its deletion any more.
    pub(crate) fn put_or_remove(
        &mut self,
        resource: &Resource,
        key: Key,
        object: Value,
    ) -> Result<Written, WriteError> {
        if meta::is_deleting(&object)
            && meta::grace(&object) == 0
            && self.can_remove(resource, &object)
            && let Some(last) = self.remove(resource, &key)?
        {
            return Ok(Written::Removed(last));
        }
        self.put(resource, key, object).map(Written::Stored)
    }

    /// The grace period in seconds. Only pods on an existing node have one: without a kubelet, nothing would report the end of their
    /// containers.
    fn grace_seconds(&self, resource: &Resource, object: &Value, requested: Option<i64>) -> i64 {
        let node = object["spec"]["nodeName"].as_str().filter(|_| resource.is("", "pods"));
        let node = node.and_then(|node| self.storage.object("", "nodes", &Key::new(None, node)));
        if node.is_none() || matches!(object["status"]["phase"].as_str(), Some("Succeeded" | "Failed")) {
            return 0;
        }
        let own = object["spec"]["terminationGracePeriodSeconds"].as_i64().unwrap_or(30);
        // As on genuine servers, a negative grace period means 1 second.
        let grace = requested.unwrap_or(own);
        if grace < 0 { 1 } else { grace }
    }

    /// The timestamp `seconds` from now.
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
        let Some(resource) = self.storage.defined_by(definition) else { return };
        let mut finalizers: Vec<String> =
            meta::strings(definition, "finalizers").into_iter().map(Into::into).collect();
        if self.storage.store.objects(resource.table, None).next().is_some()
            && !finalizers.iter().any(|f| f == crd::CLEANUP)
        {
            finalizers.push(crd::CLEANUP.into());
            meta::set_finalizers(definition, finalizers.iter().map(String::as_str));
        }
    }

    /// Removes the references of all dependents to a terminating owner, then its `orphan` finalizer.
    pub(super) fn orphan_dependents(&mut self, (table, key): &ObjectId) -> Result<(), WriteError> {
        let Some(resource) = self.storage.scheme.by_table(*table).cloned() else { return Ok(()) };
        let Some(owner) = self.storage.store.get(*table, key).cloned() else { return Ok(()) };
        for (table, key) in self.work.owners.dependents(&owner.uid) {
            self.drop_references(table, &key, &[owner.uid.to_string()])?;
        }
        self.drop_finalizer(&resource, key, &owner.value(), ORPHAN)
    }

    /// Removes a finalizer, and the object with its last one.
    pub(super) fn drop_finalizer(
        &mut self,
        resource: &Resource,
        key: &Key,
        object: &Value,
        finalizer: &str,
    ) -> Result<(), WriteError> {
        let mut object = object.clone();
        let left: Vec<String> = meta::strings(&object, "finalizers")
            .into_iter()
            .filter(|f| *f != finalizer)
            .map(Into::into)
            .collect();
        meta::set_finalizers(&mut object, left.iter().map(String::as_str));
        self.put_or_remove(resource, key.clone(), object).map(drop)
    }
}

/// Whether a finalizer of the garbage collector decides about the dependents of an object.
pub(crate) fn has_propagation(object: &Value) -> bool {
    meta::strings(object, "finalizers").iter().any(|finalizer| [FOREGROUND, ORPHAN].contains(finalizer))
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

/// Sets the deletion timestamp. A second deletion can only shorten the grace period.
fn mark_deleting(object: &mut Value, at: &str, grace: i64) {
    let already_deleting = meta::is_deleting(object);
    if already_deleting && grace >= meta::grace(object) {
        return;
    }
    meta::set(object, "deletionTimestamp", at);
    meta::set(object, "deletionGracePeriodSeconds", grace);
    if already_deleting {
        return;
    }
    if let Some(generation) = object["metadata"]["generation"].as_i64().filter(|g| *g > 0) {
        meta::set(object, "generation", generation + 1);
    }
}
