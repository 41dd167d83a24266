//! Empties and finishes terminating namespaces and definitions.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{ClusterState, task::Task};
use crate::{
    crd,
    object::meta,
    scheme::{Resource, TableId},
    storage::{Key, WriteError},
};

impl ClusterState {
    pub(super) fn empty_namespace(&mut self, name: &str) -> Result<(), WriteError> {
        let namespaced: Vec<Arc<Resource>> =
            self.storage.scheme.resources().filter(|r| r.namespaced).cloned().collect();
        for resource in namespaced {
            self.delete_all(&resource, Some(name))?;
        }
        self.work.enqueue(Task::FinishNamespace(name.into()));
        Ok(())
    }

    /// Removes the `kubernetes` finalizer of a terminating namespace once it has no objects.
    pub(super) fn finish_namespace(&mut self, name: &str) -> Result<(), WriteError> {
        let Some(namespaces) = self.storage.resource("", "namespaces") else {
            return Ok(());
        };
        let key = Key::new(None, name);
        let Some(mut object) = self.storage.store.get(namespaces.table, &key).map(|stored| stored.value())
        else {
            return Ok(());
        };
        if !meta::is_deleting(&object) || self.storage.has_objects_in(name) {
            return Ok(());
        }
        let finalizers = object["spec"]["finalizers"].as_array().cloned().unwrap_or_default();
        let left: Vec<Value> = finalizers.into_iter().filter(|f| f != "kubernetes").collect();
        object["spec"] = if left.is_empty() { json!({}) } else { json!({"finalizers": left}) };
        if self.storage.store.get(namespaces.table, &key).is_some_and(|stored| stored.value() != object) {
            self.put_or_remove(&namespaces, key, object)?;
        }
        Ok(())
    }

    pub(super) fn empty_resource(&mut self, table: TableId) -> Result<(), WriteError> {
        if let Some(resource) = self.storage.scheme.by_table(table).cloned() {
            self.delete_all(&resource, None)?;
        }
        self.work.enqueue(Task::FinishResource(table));
        Ok(())
    }

    /// Removes the cleanup finalizer of a terminating CRD once it has no objects.
    pub(super) fn finish_resource(&mut self, table: TableId) -> Result<(), WriteError> {
        let Some(resource) = self.storage.scheme.by_table(table).cloned() else { return Ok(()) };
        let definitions = self.storage.scheme.by_plural("apiextensions.k8s.io", "customresourcedefinitions");
        let Some(definitions) = definitions.map(|e| e.resource.clone()) else { return Ok(()) };
        let key = Key::new(None, &format!("{}.{}", resource.plural, resource.group));
        let Some(definition) = self.storage.store.get(definitions.table, &key).map(|stored| stored.value())
        else {
            return Ok(());
        };
        let held = meta::strings(&definition, "finalizers").contains(&crd::CLEANUP);
        if meta::is_deleting(&definition) && held && self.storage.store.objects(table, None).next().is_none()
        {
            self.drop_finalizer(&definitions, &key, &definition, crd::CLEANUP)?;
        }
        Ok(())
    }

    fn delete_all(&mut self, resource: &Resource, namespace: Option<&str>) -> Result<(), WriteError> {
        let keys: Vec<Key> =
            self.storage.store.objects(resource.table, namespace).map(|stored| stored.key.clone()).collect();
        for key in keys {
            self.delete(resource, &key, None)?;
        }
        Ok(())
    }
}
