//! Carries out adoptions and releases.

use std::sync::Arc;

use serde_json::Value;

use super::{WorkloadTask, task::Adoptable};
use crate::{
    cluster::{ClusterState, work::Work},
    object::meta,
    scheme::Resource,
    storage::{Key, Storage, Stored, WriteError},
    workloads::{adopt, controls, release},
};

impl Work {
    /// Enqueues the adoption of an object that nobody controls and that is new, was released or has other labels.
    pub(super) fn enqueue_adoption(
        &mut self,
        storage: &Storage,
        kind: Adoptable,
        before: Option<&Stored>,
        after: &Stored,
    ) {
        let same = |before: &Stored| before.labels == after.labels && before.owners == after.owners;
        if is_controlled(after) || before.is_some_and(same) {
            return;
        }
        let namespace = after.key.namespace();
        let has_owners = kind.owners().iter().any(|(group, plural)| {
            let table = storage.table(group, plural);
            table.is_some_and(|table| storage.store.objects(table, namespace).next().is_some())
        });
        if has_owners {
            let namespace = namespace.unwrap_or_default().to_owned();
            self.enqueue(WorkloadTask::Adopt(namespace, kind, Some(after.key.clone())).into());
        }
    }

    /// Enqueues the adoption of what a new owner selects, or one whose selector has changed.
    pub(super) fn enqueue_adoptions_by(
        &mut self,
        resource: &Resource,
        kind: Adoptable,
        before: Option<&Stored>,
        after: &Stored,
    ) {
        let selector = |stored: &Stored| stored.value()["spec"]["selector"].take();
        // Others cannot change their selector.
        let mutable = resource.plural == "replicationcontrollers";
        if before.is_none_or(|before| mutable && selector(before) != selector(after)) {
            let namespace = after.key.namespace().unwrap_or_default();
            self.enqueue(WorkloadTask::Adopt(namespace.into(), kind, None).into());
        }
    }
}

fn is_controlled(stored: &Stored) -> bool {
    stored.owners.iter().any(|owner| owner.controls)
}

impl ClusterState {
    /// Adopts unowned objects into the first owner that selects them: all of the namespace after a new owner, one after a new object.
    pub(super) fn adopt_objects(
        &mut self,
        namespace: &str,
        kind: Adoptable,
        only: Option<&Key>,
    ) -> Result<(), WriteError> {
        let (group, plural) = kind.resource();
        let Some(resource) = self.storage.resource(group, plural) else { return Ok(()) };
        let owners = kind.owners().iter().filter_map(|(group, plural)| self.storage.table(group, plural));
        let owners = owners.flat_map(|table| self.storage.store.objects(table, Some(namespace)));
        let owners: Vec<Value> = owners.map(|stored| stored.value()).collect();
        let unowned: Vec<Arc<Stored>> = match only {
            Some(key) => self.storage.store.get(resource.table, key).into_iter().cloned().collect(),
            None => self.storage.store.objects(resource.table, Some(namespace)).cloned().collect(),
        };
        for stored in unowned.iter().filter(|stored| !is_controlled(stored)) {
            let object = stored.value();
            if let Some(adopted) = owners.iter().find_map(|owner| adopt(owner, &object)) {
                self.put(&resource, stored.key.clone(), adopted)?;
            }
        }
        Ok(())
    }

    /// The dependents that an object controls in one resource, by name, after those that it does not select any more have been released.
    pub(super) fn claimed(
        &mut self,
        owner: &Value,
        group: &str,
        plural: &str,
    ) -> Result<(Vec<Key>, Vec<Value>), WriteError> {
        let Some(resource) = self.storage.resource(group, plural) else { return Ok(Default::default()) };
        let (keys, objects) = self.owned(owner, &resource);
        let mut kept = (Vec::new(), Vec::new());
        for (key, object) in keys.into_iter().zip(objects) {
            match release(owner, &object) {
                Some(released) => drop(self.put(&resource, key, released)?),
                None => kept.extend([(key, object)]),
            }
        }
        Ok(kept)
    }

    /// The dependents that an object controls in one resource, by name.
    pub(super) fn owned(&self, owner: &Value, resource: &Resource) -> (Vec<Key>, Vec<Value>) {
        let uid = meta::text(owner, "uid").unwrap_or_default();
        let dependents = self.work.owners.dependents(uid).into_iter();
        let dependents = dependents.filter(|(table, _)| *table == resource.table);
        dependents
            .filter_map(|(table, key)| {
                let object = self.storage.store.get(table, &key)?.value();
                controls(owner, &object).then_some((key, object))
            })
            .unzip()
    }
}
