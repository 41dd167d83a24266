//! The objects of a moment.

use std::collections::{BTreeMap, BTreeSet};

use kube_core::Resource;
use kube_testserver::ApiServer;
use serde_json::Value;

use super::ObjectName;
use crate::kinds::{self, split};

/// The objects that the cluster has at a moment. Invariants look at it, and see all kinds.
#[derive(Clone, Debug, Default)]
pub struct State(pub(crate) BTreeMap<ObjectName, Value>);

impl State {
    /// The objects of these resources.
    pub(crate) fn read(server: &ApiServer, resources: &BTreeSet<String>) -> Self {
        let mut state = BTreeMap::new();
        for resource in resources {
            let (group, plural) = split(resource);
            let objects = server.objects(group, plural).unwrap_or_default();
            state.extend(objects.into_iter().map(|object| (ObjectName::of(resource, &object), object)));
        }
        Self(state)
    }

    /// The objects of a kind, by namespace and name.
    pub fn objects<K: Resource<DynamicType = ()>>(&self) -> impl Iterator<Item = &Value> {
        self.objects_of(kinds::resource(&K::plural(&()), &K::group(&())))
    }

    /// The objects of a resource by its plural and group, such as `pods` or `pages.example.com`, by namespace and name.
    pub fn objects_of(&self, resource: impl Into<String>) -> impl Iterator<Item = &Value> {
        let resource = resource.into();
        self.0.iter().filter(move |(name, _)| name.resource == resource).map(|(_, object)| object)
    }

    /// The number of objects of a kind.
    pub fn count<K: Resource<DynamicType = ()>>(&self) -> usize {
        self.objects::<K>().count()
    }

    /// The number of objects of a resource by its plural and group.
    pub fn count_of(&self, resource: impl Into<String>) -> usize {
        self.objects_of(resource).count()
    }
}
