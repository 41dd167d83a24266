use std::sync::Arc;

use serde_json::Value;

use super::{ClusterState, access::RBAC, task::Task};
use crate::{
    auth::{self, RbacAuthorizer},
    journal::WriteError,
    meta,
    scheme::Resource,
    selector::LabelSelector,
    store::Key,
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

    /// Creates the roles and bindings that every cluster with RBAC starts with.
    pub(super) fn bootstrap_rbac(&mut self) -> Result<(), WriteError> {
        for mut object in auth::bootstrap_objects() {
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
        let roles = self.storage.table(RBAC, "clusterroles");
        let has_some = roles
            .is_some_and(|table| self.storage.store.get(table, &Key::new(None, "cluster-admin")).is_some());
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
        // Aggregated roles may select aggregated roles: each round completes at least one of them. The bound stops roles that select each other.
        let rounds = self.storage.store.objects(resource.table, None).count();
        for _ in 0..=rounds {
            if !self.aggregate_once(&resource)? {
                break;
            }
        }
        self.work.cancel(&Task::AggregateRoles);
        Ok(())
    }

    /// Returns whether a role changed.
    fn aggregate_once(&mut self, resource: &Resource) -> Result<bool, WriteError> {
        let mut roles: Vec<Value> =
            self.storage.store.objects(resource.table, None).map(|stored| stored.value()).collect();
        let mut changed = false;
        for at in 0..roles.len() {
            let Some(rules) = aggregated(&roles[at], &roles) else { continue };
            if !same_rules(&rules, roles[at]["rules"].as_array().map_or(&[], Vec::as_slice)) {
                // Seen by the next role: two that select each other would swap their rules for ever otherwise.
                roles[at]["rules"] = rules.into();
                self.put(resource, Key::new(None, meta::name(&roles[at])), roles[at].clone())?;
                changed = true;
            }
        }
        Ok(changed)
    }
}

/// `None` when the role has no aggregation rule.
fn aggregated(role: &Value, roles: &[Value]) -> Option<Vec<Value>> {
    let selectors = role["aggregationRule"]["clusterRoleSelectors"].as_array()?;
    let selectors: Vec<LabelSelector> = selectors.iter().filter_map(LabelSelector::from_object).collect();
    let mut rules: Vec<Value> = Vec::new();
    for other in roles.iter().filter(|other| meta::name(other) != meta::name(role)) {
        let label = |key: &str| other["metadata"]["labels"][key].as_str();
        if selectors.iter().any(|selector| selector.matches(label)) {
            for rule in other["rules"].as_array().into_iter().flatten() {
                if !rules.contains(rule) {
                    rules.push(rule.clone());
                }
            }
        }
    }
    Some(rules)
}

/// Order does not matter.
fn same_rules(one: &[Value], other: &[Value]) -> bool {
    one.len() == other.len() && one.iter().all(|rule| other.contains(rule))
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
