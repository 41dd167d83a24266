//! Service accounts: the default one of each namespace, and the published CA certificate.

use std::sync::Arc;

use serde_json::json;

use super::{BuiltInController, ClusterState, task::Task, work::Work};
use crate::{
    rbac::User,
    scheme::Resource,
    storage::{Key, Stored, WriteError},
};

const ROOT_CA: &str = "kube-root-ca.crt";

impl Work {
    /// Enqueues the service account task of the namespace that this object belongs to.
    pub(super) fn enqueue_service_account(&mut self, resource: &Resource, key: &Key) {
        if !self.is_enabled(BuiltInController::ServiceAccounts) || !resource.group.is_empty() {
            return;
        }
        match (resource.plural.as_str(), key.namespace()) {
            ("namespaces", _) => self.enqueue(Task::ServiceAccounts(key.name().into())),
            ("serviceaccounts", Some(namespace)) if key.name() == "default" => {
                self.enqueue(Task::ServiceAccounts(namespace.into()));
            }
            ("configmaps", Some(namespace)) if key.name() == ROOT_CA => {
                self.enqueue(Task::ServiceAccounts(namespace.into()));
            }
            _ => {}
        }
    }
}

impl ClusterState {
    /// Creates the default service account and the ConfigMap with the CA certificate of a namespace, or restores its content.
    pub(super) fn ensure_service_account(&mut self, namespace: &str) -> Result<(), WriteError> {
        let stored = self.storage.object("", "namespaces", &Key::new(None, namespace));
        if stored.is_none_or(|stored| stored.deleting) {
            return Ok(());
        }
        let metadata = |name: &str| json!({"name": name, "namespace": namespace});
        self.create_or_warn(
            "",
            "serviceaccounts",
            json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata("default")}),
        )?;
        let key = Key::new(Some(namespace), ROOT_CA);
        if let Some(maps) = self.storage.resource("", "configmaps")
            && let Some(stored) = self.storage.store.get(maps.table, &key).cloned()
        {
            return self.publish_ca(&maps, &stored);
        }
        let data = json!({"ca.crt": self.access.ca});
        let map =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata(ROOT_CA), "data": data});
        self.create_or_warn("", "configmaps", map)
    }

    /// Sets the CA certificate that pods get, and updates every published copy.
    pub(crate) fn set_ca(&mut self, pem: &str) -> Result<(), WriteError> {
        self.access.ca = pem.to_owned();
        let Some(maps) = self.storage.resource("", "configmaps") else {
            return Ok(());
        };
        let published: Vec<_> = self
            .storage
            .store
            .objects(maps.table, None)
            .filter(|stored| stored.key.name() == ROOT_CA)
            .cloned()
            .collect();
        for stored in published {
            self.publish_ca(&maps, &stored)?;
        }
        self.run_tasks();
        Ok(())
    }

    /// Puts the CA certificate back into a ConfigMap that has another content.
    fn publish_ca(&mut self, maps: &Resource, stored: &Stored) -> Result<(), WriteError> {
        let (mut map, data) = (stored.value(), json!({"ca.crt": self.access.ca}));
        if map["data"] != data {
            map["data"] = data;
            if let Err(why) = self.update(maps, &stored.key, map)? {
                tracing::warn!("ConfigMap {} was not written: {why}", stored.key);
            }
        }
        Ok(())
    }

    /// Authenticates a bearer token for one of the audiences. `Err` is the message of the refusal.
    pub(crate) fn authenticate_token(
        &self,
        token: &str,
        audiences: &[&str],
    ) -> Result<(Arc<User>, Vec<String>), String> {
        self.access.authenticate_token(&self.storage, self.clock.timestamp(), token, audiences)
    }
}
