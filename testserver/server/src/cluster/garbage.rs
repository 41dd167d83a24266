//! Garbage collection: deletes dependents without owners, and finishes foreground deletions.

use serde_json::Value;

use super::{
    ClusterState,
    owners::{DependentAction, FOREGROUND, ObjectId, OwnerState, decide},
};
use crate::{
    object::meta::{self, Owner},
    route::Propagation,
    scheme::{Resource, TableId},
    storage::{Key, WriteError},
};

impl ClusterState {
    pub(super) fn check_owners(&mut self, (table, key): &ObjectId) -> Result<(), WriteError> {
        let Some(resource) = self.storage.scheme.by_table(*table).cloned() else { return Ok(()) };
        let Some(stored) = self.storage.store.get(*table, key).cloned() else { return Ok(()) };
        let states: Vec<OwnerState> =
            stored.owners.iter().map(|owner| self.owner_state(owner, key.namespace())).collect();
        let has_dependents = self.work.owners.each_dependent(&stored.uid).next().is_some();
        match decide(&stored.owners, &states, has_dependents) {
            DependentAction::Keep => {}
            DependentAction::DropReferences(uids) => self.drop_references(*table, key, &uids)?,
            DependentAction::Delete { .. } if stored.deleting => {}
            DependentAction::Delete { foreground } => {
                if foreground {
                    self.break_cycle(&resource, key, &stored.uid)?;
                }
                // Background, so that finalizers of the garbage collector on the object itself run first.
                let policy = foreground.then_some(Propagation::Foreground);
                self.delete(&resource, key, policy)?;
            }
        }
        Ok(())
    }

    /// When a dependent of this object waits for its own dependents, the two may wait for each other: then the object blocks none of its
    /// owners any more.
    fn break_cycle(&mut self, resource: &Resource, key: &Key, uid: &str) -> Result<(), WriteError> {
        let waits = |(table, key): &ObjectId| {
            let dependent = self.storage.store.get(*table, key);
            dependent.is_some_and(|dependent| dependent.deleting && waits_in_foreground(&dependent.value()))
        };
        if !self.work.owners.each_dependent(uid).any(waits) {
            return Ok(());
        }
        let Some((_, mut object)) = self.storage.read(resource.table, key) else { return Ok(()) };
        let references = object.pointer_mut("/metadata/ownerReferences").and_then(Value::as_array_mut);
        let mut changed = false;
        for reference in references.into_iter().flatten().filter(|r| r["blockOwnerDeletion"] == true) {
            reference["blockOwnerDeletion"] = false.into();
            changed = true;
        }
        if changed {
            self.put(resource, key.clone(), object)?;
        }
        Ok(())
    }

    /// Removes the `foregroundDeletion` finalizer of an owner once no dependent blocks its deletion.
    pub(super) fn finish_foreground(&mut self, uid: &str) -> Result<(), WriteError> {
        let Some((table, key)) = self.work.owners.live(uid).cloned() else { return Ok(()) };
        let Some((resource, object)) = self.storage.read(table, &key) else { return Ok(()) };
        if !waits_in_foreground(&object) {
            return Ok(());
        }
        let blocked = self.work.owners.each_dependent(uid).any(|(table, key)| {
            let dependent = self.storage.store.get(*table, key);
            dependent.is_some_and(|d| d.owners.iter().any(|owner| owner.uid == uid && owner.blocks_deletion))
        });
        if !blocked {
            self.drop_finalizer(&resource, &key, &object, FOREGROUND)?;
        }
        Ok(())
    }

    pub(super) fn drop_references(
        &mut self,
        table: TableId,
        key: &Key,
        uids: &[String],
    ) -> Result<(), WriteError> {
        let Some((resource, mut object)) = self.storage.read(table, key) else { return Ok(()) };
        let references = object["metadata"]["ownerReferences"].as_array().cloned().unwrap_or_default();
        let left: Vec<Value> =
            references.into_iter().filter(|r| !uids.iter().any(|uid| r["uid"] == uid.as_str())).collect();
        meta::set(&mut object, "ownerReferences", if left.is_empty() { Value::Null } else { left.into() });
        self.put(&resource, key.clone(), object).map(drop)
    }

    /// The state of the object that an owner reference in `namespace` points to.
    fn owner_state(&self, owner: &Owner, namespace: Option<&str>) -> OwnerState {
        let (group, version) = meta::split_api_version(&owner.api_version);
        let Some(endpoint) = self.storage.scheme.by_kind(group, version, &owner.kind) else {
            return OwnerState::Unknown;
        };
        if endpoint.resource.namespaced && namespace.is_none() {
            return OwnerState::Unknown;
        }
        let namespace = namespace.filter(|_| endpoint.resource.namespaced);
        let key = Key::new(namespace, &owner.name);
        match self.storage.store.get(endpoint.resource.table, &key) {
            Some(stored) if *stored.uid == *owner.uid => {
                // Most owners are not read for this.
                if stored.deleting && waits_in_foreground(&stored.value()) {
                    OwnerState::WaitingForDependents
                } else {
                    OwnerState::Solid
                }
            }
            _ => OwnerState::Dangling,
        }
    }
}

fn waits_in_foreground(object: &Value) -> bool {
    meta::is_deleting(object) && meta::strings(object, "finalizers").contains(&FOREGROUND)
}
