use std::sync::Arc;

use serde_json::{Value, json};

use super::{ClusterState, task::Task};
use crate::{
    meta,
    scheme::{Resource, crd},
    store::{Key, TableId},
};

impl ClusterState {
    pub(super) fn empty_namespace(&mut self, name: &str) {
        let namespaced: Vec<Arc<Resource>> =
            self.scheme.resources().filter(|r| r.namespaced).cloned().collect();
        for resource in namespaced {
            self.delete_all(&resource, Some(name));
        }
        self.enqueue(Task::FinishNamespace(name.into()));
    }

    /// Removes the `kubernetes` finalizer of a terminating namespace once it has no objects.
    pub(super) fn finish_namespace(&mut self, name: &str) {
        let Some(namespaces) = self.scheme.by_plural("", "namespaces").map(|e| e.resource.clone()) else {
            return;
        };
        let key = Key::new(None, name);
        let Some(mut object) = self.store.get(namespaces.table, &key).map(|stored| stored.value()) else {
            return;
        };
        if !meta::is_deleting(&object) || self.has_contents(name) {
            return;
        }
        let finalizers = object["spec"]["finalizers"].as_array().cloned().unwrap_or_default();
        let left: Vec<Value> = finalizers.into_iter().filter(|f| f != "kubernetes").collect();
        object["spec"] = if left.is_empty() { json!({}) } else { json!({"finalizers": left}) };
        if self.store.get(namespaces.table, &key).is_some_and(|stored| stored.value() != object) {
            // Stored or removed: both are the desired state.
            drop(self.put_or_remove(&namespaces, key, object));
        }
    }

    pub(super) fn empty_resource(&mut self, table: TableId) {
        if let Some(resource) = self.scheme.by_table(table).cloned() {
            self.delete_all(&resource, None);
        }
        self.enqueue(Task::FinishResource(table));
    }

    /// Removes the cleanup finalizer of a terminating CRD once it has no objects.
    pub(super) fn finish_resource(&mut self, table: TableId) {
        let Some(resource) = self.scheme.by_table(table).cloned() else { return };
        let definitions = self.scheme.by_plural("apiextensions.k8s.io", "customresourcedefinitions");
        let Some(definitions) = definitions.map(|e| e.resource.clone()) else { return };
        let key = Key::new(None, &format!("{}.{}", resource.plural, resource.group));
        let Some(definition) = self.store.get(definitions.table, &key).map(|stored| stored.value()) else {
            return;
        };
        let held = meta::strings(&definition, "finalizers").contains(&crd::CLEANUP);
        if meta::is_deleting(&definition) && held && self.store.objects(table, None).next().is_none() {
            self.drop_finalizer(&definitions, &key, &definition, crd::CLEANUP);
        }
    }

    fn delete_all(&mut self, resource: &Resource, namespace: Option<&str>) {
        let keys: Vec<Key> =
            self.store.objects(resource.table, namespace).map(|stored| stored.key.clone()).collect();
        for key in keys {
            self.delete(resource, &key, None);
        }
    }

    fn has_contents(&self, namespace: &str) -> bool {
        let mut namespaced = self.scheme.resources().filter(|r| r.namespaced);
        namespaced.any(|resource| self.store.objects(resource.table, Some(namespace)).next().is_some())
    }
}
