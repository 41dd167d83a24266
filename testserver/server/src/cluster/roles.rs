//! The roles of a server: who may send a request, the bootstrap roles, and the rules of aggregated roles.

use std::sync::Arc;

use http::request::Parts;

use super::{ClusterState, task::Task};
use crate::{
    object::meta,
    rbac::{self, RBAC, RbacAuthorizer, User, aggregate, bootstrap_objects},
    status_error::StatusError,
    storage::{Key, WriteError},
    strategy,
};

impl ClusterState {
    /// Whether the server authenticates users and enforces RBAC.
    pub(crate) fn enforces_rbac(&self) -> bool {
        self.access.rbac
    }

    /// The authorizer over the RBAC objects.
    pub(crate) fn rbac_authorizer(&self) -> Arc<RbacAuthorizer> {
        self.access.authorizer(&self.storage)
    }

    /// The user of a request that is permitted. `identity` is the user of requests without credentials.
    pub(crate) fn authorize(&self, identity: &Arc<User>, parts: &Parts) -> Result<Arc<User>, StatusError> {
        rbac::authorize(&self.access, &self.storage, self.clock.timestamp(), identity, parts)
    }

    /// Creates the roles and bindings that every cluster with RBAC starts with.
    pub(super) fn bootstrap_rbac(&mut self) -> Result<(), WriteError> {
        for mut object in bootstrap_objects() {
            let kind = object["kind"].as_str().unwrap_or_default().to_string();
            let Some(endpoint) = self.storage.scheme.by_kind(RBAC, "v1", &kind).cloned() else { continue };
            strategy::prepare_create(&endpoint, &mut object, &self.ids.uid(), &self.now());
            let key = Key::new(None, meta::name(&object));
            self.put(&endpoint.resource, key, object)?;
        }
        self.run_tasks();
        Ok(())
    }

    /// Creates the bootstrap roles and bindings where a restored state lacks them.
    pub(super) fn ensure_rbac_bootstrap(&mut self) -> Result<(), WriteError> {
        let has_some = self.storage.object(RBAC, "clusterroles", &Key::new(None, "cluster-admin")).is_some();
        if self.access.rbac && !has_some {
            self.bootstrap_rbac()?;
        }
        Ok(())
    }

    /// Writes the rules of every ClusterRole with an aggregation rule: those of the roles it selects.
    pub(super) fn aggregate_roles(&mut self) -> Result<(), WriteError> {
        let Some(resource) = self.storage.resource(RBAC, "clusterroles") else {
            return Ok(());
        };
        let roles = self.storage.store.objects(resource.table, None).map(|stored| stored.value()).collect();
        for role in aggregate(roles) {
            self.put(&resource, Key::new(None, meta::name(&role)), role)?;
        }
        self.work.cancel(&Task::AggregateRoles);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn roles_that_select_each_other_converge() {
        let mut cluster = ClusterState::new(super::super::Settings { rbac: true, ..Default::default() });
        let clusterroles = cluster.storage.scheme.by_plural(RBAC, "clusterroles").unwrap().resource.clone();
        let role = |name: &str, verb: &str, selects: &str| {
            json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
                "metadata": {"name": name, "labels": {"is": name}},
                "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"is": selects}}]},
                "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": [verb]}]})
        };
        for role in [role("a", "get", "b"), role("b", "list", "a")] {
            cluster.put(&clusterroles, Key::new(None, meta::name(&role)), role).unwrap();
        }
        cluster.run_tasks();
        let settled = cluster.storage.store.revision();
        cluster.work.enqueue(Task::AggregateRoles);
        cluster.run_tasks();
        assert_eq!(cluster.storage.store.revision(), settled);
        let edit = cluster.storage.store.get(clusterroles.table, &Key::new(None, "edit")).unwrap().value();
        let view = cluster.storage.store.get(clusterroles.table, &Key::new(None, "view")).unwrap().value();
        let (edit, view) = (edit["rules"].as_array().unwrap(), view["rules"].as_array().unwrap());
        assert!(!view.is_empty() && edit.len() > view.len() && view.iter().all(|rule| edit.contains(rule)));
    }
}
