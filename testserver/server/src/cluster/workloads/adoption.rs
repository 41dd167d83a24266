//! Carries out adoptions and releases.

use std::sync::Arc;

use serde_json::Value;

use super::{WorkloadTask, task::Adoptable};
use crate::{
    cluster::{ClusterState, work::Work},
    object::{meta, selector::LabelSelector},
    scheme::Resource,
    storage::{Key, Storage, Stored, WriteError},
    workloads::{adopt, release, selector_of},
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

/// Whether an object with this uid controls another one.
pub(super) fn controls(uid: &str, dependent: &Stored) -> bool {
    dependent.owners.iter().any(|owner| owner.controls && owner.uid == uid)
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
        let tables = kind.owners().iter().filter_map(|(group, plural)| self.storage.table(group, plural));
        let owners = tables.flat_map(|table| self.storage.store.objects(table, Some(namespace)));
        let owners = owners.map(|stored| self.work.caches.objects.get(stored));
        let owners: Vec<_> = owners.filter_map(|owner| Some((selector_of(&owner)?, owner))).collect();
        let unowned: Vec<Arc<Stored>> = match only {
            Some(key) => self.storage.store.get(resource.table, key).into_iter().cloned().collect(),
            None => self.storage.store.objects(resource.table, Some(namespace)).cloned().collect(),
        };
        for stored in unowned.iter().filter(|stored| !is_controlled(stored)) {
            let selected = |(selector, _): &&(LabelSelector, Arc<Value>)| selects(selector, stored);
            let mut owners = owners.iter().filter(selected).peekable();
            let object = owners.peek().map_or(Value::Null, |_| stored.value());
            if let Some(adopted) = owners.find_map(|(_, owner)| adopt(owner, &object))
                && let Err(why) = self.update(&resource, &stored.key, adopted)?
            {
                tracing::debug!(object = %stored.key, why, "an adoption was refused");
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
    ) -> Result<Vec<Arc<Stored>>, WriteError> {
        let Some(resource) = self.storage.resource(group, plural) else { return Ok(Vec::new()) };
        let selector = selector_of(owner);
        let mut claimed = Vec::new();
        for stored in self.owned(owner, &resource) {
            let selected = selector.as_ref().is_some_and(|selector| selects(selector, &stored));
            match if selected { None } else { release(owner, &stored.value()) } {
                // One that may not be released is not counted all the same.
                Some(released) => drop(self.update(&resource, &stored.key, released)?),
                None => claimed.push(stored),
            }
        }
        Ok(claimed)
    }

    /// The dependents that an object controls in one resource, by name.
    pub(super) fn owned(&self, owner: &Value, resource: &Resource) -> Vec<Arc<Stored>> {
        let uid = meta::text(owner, "uid").unwrap_or_default();
        let keys = self.work.owners.dependents_in(uid, resource.table);
        let stored = keys.filter_map(|key| self.storage.store.get(resource.table, key));
        stored.filter(|stored| controls(uid, stored)).cloned().collect()
    }
}

fn selects(selector: &LabelSelector, stored: &Stored) -> bool {
    selector.matches(|key| stored.label(key))
}
