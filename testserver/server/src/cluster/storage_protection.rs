//! Storage protection: finalizers hold volumes and claims while they are in use.

use serde_json::Value;

use super::{ClusterState, owners::ObjectId, task::Task, work::Work};
use crate::{
    object::meta,
    pods::is_over,
    storage::{Key, Storage, WriteError},
    strategy::{CLAIM_IN_USE, CLASS_IN_USE, VOLUME_IN_USE},
};

impl Work {
    /// Enqueues the class of attributes of a removed volume or claim.
    pub(super) fn enqueue_class(&mut self, storage: &Storage, object: &Value) {
        if let (Some(table), Some(class)) =
            (storage.table("storage.k8s.io", "volumeattributesclasses"), class_of(object))
        {
            self.enqueue(Task::FreeStorage((table, Key::new(None, class))));
        }
    }
}

impl ClusterState {
    /// Removes the protection finalizer of a terminating volume or claim that is not in use.
    pub(super) fn free_storage(&mut self, (table, key): &ObjectId) -> Result<(), WriteError> {
        let Some((resource, object)) = self.storage.read(*table, key) else { return Ok(()) };
        if !meta::is_deleting(&object) {
            return Ok(());
        }
        let (finalizer, used) = match resource.plural.as_str() {
            "persistentvolumes" => (VOLUME_IN_USE, object["status"]["phase"] == "Bound"),
            "volumeattributesclasses" => (CLASS_IN_USE, self.has_class(key.name())),
            _ => (CLAIM_IN_USE, self.is_claimed(key)),
        };
        if !used && meta::strings(&object, "finalizers").contains(&finalizer) {
            self.drop_finalizer(&resource, key, &object, finalizer)?;
        }
        Ok(())
    }

    /// Whether a volume or a claim has this class of attributes.
    fn has_class(&self, class: &str) -> bool {
        ["persistentvolumes", "persistentvolumeclaims"].into_iter().any(|plural| {
            let table = self.storage.table("", plural);
            table.is_some_and(|table| {
                let mut objects = self.storage.store.objects(table, None);
                objects.any(|stored| class_of(&stored.value()).is_some_and(|name| name == class))
            })
        })
    }

    /// Whether a scheduled pod that has not finished uses this claim.
    fn is_claimed(&self, claim: &Key) -> bool {
        let pods = self.work.claims.pods(claim).filter_map(|pod| self.storage.object("", "pods", pod));
        pods.map(|pod| pod.value()).any(|pod| !is_over(&pod) && pod["spec"]["nodeName"].is_string())
    }
}

fn class_of(object: &Value) -> Option<&str> {
    object["spec"]["volumeAttributesClassName"].as_str()
}
