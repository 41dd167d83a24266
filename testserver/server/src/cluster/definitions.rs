//! Empties and finishes terminating custom resource definitions.

use super::{ClusterState, task::Task};
use crate::{
    crd,
    object::meta,
    route::Propagation,
    scheme::{Resource, TableId},
    storage::{Key, WriteError},
};

impl ClusterState {
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
        let key = Key::new(None, &format!("{}.{}", resource.plural, resource.group));
        let definition = self.storage.table("apiextensions.k8s.io", "customresourcedefinitions");
        let definition = definition.and_then(|definitions| self.storage.read(definitions, &key));
        let Some((definitions, definition)) = definition else { return Ok(()) };
        let held = meta::strings(&definition, "finalizers").contains(&crd::CLEANUP);
        if meta::is_deleting(&definition) && held && self.storage.store.objects(table, None).next().is_none()
        {
            self.drop_finalizer(&definitions, &key, &definition, crd::CLEANUP)?;
        }
        Ok(())
    }

    /// Deletes all objects of a resource, in one namespace or in all.
    pub(super) fn delete_all(
        &mut self,
        resource: &Resource,
        namespace: Option<&str>,
    ) -> Result<(), WriteError> {
        let keys: Vec<Key> =
            self.storage.store.objects(resource.table, namespace).map(|stored| stored.key.clone()).collect();
        for key in keys {
            // Dependents are in the same scope and go too.
            self.delete(resource, &key, Some(Propagation::Background))?;
        }
        Ok(())
    }
}
