//! What the cluster has in a run.

use std::collections::BTreeSet;

use serde_json::Value;

use super::session::{Session, Touched};
use crate::{
    finding::{Finding, Oracle},
    kinds::split,
    state::{ObjectName, State, TOUCHED},
};

impl Session {
    /// The objects of all resources that were used.
    pub(crate) fn state(&self) -> State {
        let resources = self.trace(|trace| trace.resources.clone());
        self.read(&resources)
    }

    /// The same, and those of all other kinds that the cluster serves.
    pub(crate) fn whole_state(&self) -> State {
        let mut resources = self.kinds.resources();
        resources.extend(self.trace(|trace| trace.resources.clone()));
        self.read(&resources)
    }

    fn read(&self, resources: &BTreeSet<String>) -> State {
        self.write_renewals();
        State::read(&self.server, resources)
    }

    /// Whether all owners of an object are gone, so that the garbage collector takes it.
    pub(super) fn is_orphan(&self, object: &Value) -> bool {
        let owners = object["metadata"]["ownerReferences"].as_array().map_or(&[][..], Vec::as_slice);
        let exists = |owner: &Value| {
            // A kind that is not served is not known to be gone.
            let Some(kind) = self.kinds.of(owner) else { return true };
            let of_kind = self.server.objects(&kind.group, &kind.plural).unwrap_or_default();
            of_kind.iter().any(|other| other["metadata"]["uid"] == owner["uid"])
        };
        !owners.is_empty() && !owners.iter().any(exists)
    }

    /// The object as it is now.
    pub(super) fn object(&self, name: &ObjectName) -> Option<Value> {
        let (group, plural) = split(&name.resource);
        let objects = self.server.objects(group, plural)?;
        objects.into_iter().find(|object| ObjectName::of(&name.resource, object) == *name)
    }

    /// The definitions of custom resources.
    pub(crate) fn definitions(&self) -> Vec<Value> {
        self.server.objects("apiextensions.k8s.io", "customresourcedefinitions").unwrap_or_default()
    }

    /// What the operator has removed of another writer, if the object is still the same. Told once.
    pub(crate) fn lost_update(&self, step: usize) -> Option<Finding> {
        let Touched { resource, object, place } = self.last_touched()?;
        let (group, plural) = split(&resource);
        let uid = &object["metadata"]["uid"];
        let objects = self.server.objects(group, plural)?;
        let now = objects.into_iter().find(|now| now["metadata"]["uid"] == *uid)?;
        if !now["metadata"]["annotations"][TOUCHED].is_null() {
            return None;
        }
        self.forget_touched();
        let name = ObjectName::of(&resource, &object);
        let what = format!("after step {step}, {name} has lost what another writer wrote before {place}");
        Some(Finding::new(Oracle::LostUpdate, what))
    }

    /// Pods that are made again when they are deleted: by the operator, or by their owner.
    pub(crate) fn evictable_pods(&self) -> Vec<ObjectName> {
        let pods = self.server.objects("", "pods").unwrap_or_default();
        let pods = pods.into_iter().map(|pod| (ObjectName::of("pods", &pod), pod));
        let is_made = |name: &ObjectName| {
            self.trace(|trace| trace.writes.iter().any(|write| write.created && write.object == *name))
        };
        let evictable =
            pods.filter(|(name, pod)| pod["metadata"]["ownerReferences"].is_array() || is_made(name));
        evictable.map(|(name, _)| name).collect()
    }

    /// Notes whether there are such pods after this step.
    pub(crate) fn note_pods(&self) {
        if !self.evictable_pods().is_empty() {
            let step = self.step();
            self.trace(|trace| trace.pods_after.insert(step));
        }
    }
}
