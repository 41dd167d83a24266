//! Service accounts: the default one of each namespace, and authentication by their tokens.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{BuiltInController, ClusterState, task::Task};
use crate::{
    auth::{ISSUER, User},
    journal::WriteError,
    scheme::Resource,
    store::Key,
};

const ROOT_CA: &str = "kube-root-ca.crt";

impl ClusterState {
    /// Enqueues the service account task of the namespace that this object belongs to.
    pub(super) fn enqueue_service_account(&mut self, resource: &Resource, key: &Key) {
        if self.settings.disabled.contains(&BuiltInController::ServiceAccounts) || !resource.group.is_empty()
        {
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

    /// Creates the default service account and the ConfigMap with the CA certificate of a namespace.
    pub(super) fn ensure_service_account(&mut self, namespace: &str) -> Result<(), WriteError> {
        let table = self.scheme.by_plural("", "namespaces").map(|endpoint| endpoint.resource.table);
        let found = table.and_then(|table| self.store.get(table, &Key::new(None, namespace)));
        if found.is_none_or(|found| found.deleting) {
            return Ok(());
        }
        let metadata = |name: &str| json!({"name": name, "namespace": namespace});
        self.create(
            "",
            "serviceaccounts",
            json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata("default")}),
        )?;
        let data = json!({"ca.crt": self.ca});
        let map =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata(ROOT_CA), "data": data});
        self.create("", "configmaps", map).map(drop)
    }

    /// Sets the CA certificate that pods get, and updates every published copy.
    pub(crate) fn set_ca(&mut self, pem: &str) -> Result<(), WriteError> {
        self.ca = pem.to_owned();
        let Some(maps) = self.scheme.by_plural("", "configmaps").map(|endpoint| endpoint.resource.clone())
        else {
            return Ok(());
        };
        let published: Vec<_> = self
            .store
            .objects(maps.table, None)
            .filter(|stored| stored.key.name() == ROOT_CA)
            .cloned()
            .collect();
        for stored in published {
            let mut map = stored.value();
            if map["data"] != json!({"ca.crt": pem}) {
                map["data"] = json!({"ca.crt": pem});
                self.put(&maps, stored.key.clone(), map)?;
            }
        }
        self.run_tasks();
        Ok(())
    }

    /// Authenticates a bearer token for one of the audiences. `Err` is the message of the refusal.
    pub(crate) fn authenticate_token(
        &self,
        token: &str,
        audiences: &[&str],
    ) -> Result<(Arc<User>, Vec<String>), String> {
        const INVALID: &str = "invalid bearer token";
        let audiences = if audiences.is_empty() { &[ISSUER] } else { audiences };
        if let Some(user) = self.credentials.token(token) {
            return Ok((user, vec![ISSUER.into()]));
        }
        let claims = self.token_signer.verify(token).ok_or(INVALID)?;
        let user = self.account_of(&claims).ok_or(INVALID)?;
        let meant: Vec<&str> =
            claims["aud"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let both: Vec<String> =
            meant.iter().filter(|one| audiences.contains(one)).map(|&one| one.into()).collect();
        if both.is_empty() {
            return Err(format!(
                "[{INVALID}, token audiences {meant:?} is invalid for the target audiences {audiences:?}]"
            ));
        }
        Ok((Arc::new(user), both))
    }

    /// The service account of a token. `None` when the token has expired, or the account or the object it is bound to no longer exists.
    fn account_of(&self, claims: &Value) -> Option<User> {
        let about = &claims["kubernetes.io"];
        if self.clock.timestamp().as_second() >= claims["exp"].as_i64()? {
            return None;
        }
        let namespace = about["namespace"].as_str()?;
        for (claim, plural) in [("serviceaccount", "serviceaccounts"), ("pod", "pods"), ("secret", "secrets")]
        {
            if let Some(name) = about[claim]["name"].as_str() {
                let table = self.scheme.by_plural("", plural)?.resource.table;
                let found = self.store.get(table, &Key::new(Some(namespace), name))?;
                if about[claim]["uid"] != *found.uid {
                    return None;
                }
            }
        }
        let account = &about["serviceaccount"];
        let mut user =
            User::of_service_account(namespace, account["name"].as_str()?).uid(account["uid"].as_str()?);
        let id = &about["pod"];
        if let (Some(name), Some(uid)) = (id["name"].as_str(), id["uid"].as_str()) {
            user = user.extra("authentication.kubernetes.io/pod-name", name);
            user = user.extra("authentication.kubernetes.io/pod-uid", uid);
        }
        Some(user.with_implicit_group())
    }
}
