//! Storage protection: finalizers hold volumes and claims while they are in use.

use serde_json::Value;

use super::{ClusterState, owners::ObjectId, task::Task, work::Work};
use crate::{
    object::meta,
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

    /// Enqueues the claims of a removed pod.
    pub(super) fn enqueue_claims(&mut self, storage: &Storage, key: &Key, pod: &Value) {
        let Some(table) = storage.table("", "persistentvolumeclaims") else { return };
        for claim in claims(pod) {
            self.enqueue(Task::FreeStorage((table, Key::new(key.namespace(), claim))));
        }
    }
}

impl ClusterState {
    /// Removes the protection finalizer of a terminating volume or claim that is not in use. Reads all pods of the namespace.
    pub(super) fn free_storage(&mut self, (table, key): &ObjectId) -> Result<(), WriteError> {
        let Some(resource) = self.storage.scheme.by_table(*table).cloned() else { return Ok(()) };
        let Some(object) = self.storage.store.get(*table, key).map(|stored| stored.value()) else {
            return Ok(());
        };
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
        let Some(table) = self.storage.table("", "pods") else { return false };
        self.storage.store.objects(table, claim.namespace()).any(|stored| {
            let pod = stored.value();
            let over = matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
            !over && pod["spec"]["nodeName"].is_string() && claims(&pod).any(|name| name == claim.name())
        })
    }
}

fn class_of(object: &Value) -> Option<&str> {
    object["spec"]["volumeAttributesClassName"].as_str()
}

fn claims(pod: &Value) -> impl Iterator<Item = &str> {
    let volumes = pod["spec"]["volumes"].as_array().into_iter().flatten();
    volumes.filter_map(|volume| volume["persistentVolumeClaim"]["claimName"].as_str())
}
