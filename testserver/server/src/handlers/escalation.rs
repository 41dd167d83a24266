//! Privilege escalation checks of RBAC writes.

use serde_json::Value;

use super::Call;
use crate::{
    auth::{self, AuthorizationAttributes, PolicyRule},
    cluster::ClusterState,
    meta,
    status_error::StatusError,
};

const RBAC: &str = "rbac.authorization.k8s.io";

/// Refuses a role with more permissions than the user has, or a binding to one, unless the user may `escalate` or `bind`.
pub(super) fn check(
    cluster: &ClusterState,
    call: &Call,
    object: &Value,
    old: Option<&Value>,
) -> Result<(), StatusError> {
    let endpoint = &call.endpoint;
    if endpoint.group() != RBAC || !cluster.enforces_rbac() || call.user.is_superuser() {
        return Ok(());
    }
    let (verb, role) = match endpoint.kind() {
        "Role" | "ClusterRole" => ("escalate", None),
        _ => ("bind", Some(&object["roleRef"])),
    };
    let changed = |field: &str| old.is_none_or(|old| old[field] != object[field]);
    if !(changed("rules") || changed("roleRef") || changed("subjects")) {
        return Ok(());
    }
    let bindings = cluster.rbac_authorizer();
    let namespace = call.namespace.as_deref().unwrap_or_default();
    let (plural, name) = match role {
        None => (endpoint.plural(), meta::name(object)),
        Some(role) => {
            let plural = if role["kind"] == "Role" { "roles" } else { "clusterroles" };
            (plural, role["name"].as_str().unwrap_or_default())
        }
    };
    let [verb, group, resource, requested, inside] = [verb, RBAC, plural, name, namespace].map(String::from);
    let escalate_or_bind =
        AuthorizationAttributes::Resource { verb, group, resource, namespace: inside, name: requested };
    if bindings.allows(&call.user, &escalate_or_bind).is_some() {
        return Ok(());
    }
    let rules: Vec<PolicyRule> = match role {
        None => serde_json::from_value(object["rules"].clone()).unwrap_or_default(),
        Some(_) => {
            let home = if plural == "roles" { namespace } else { "" };
            let rules =
                bindings.role(home, name).ok_or_else(|| StatusError::not_found(RBAC, plural, name))?;
            rules.to_vec()
        }
    };
    let held: Vec<&PolicyRule> = bindings.grants(&call.user, namespace).map(|grant| grant.rule).collect();
    let missing = auth::missing(&held, &rules);
    if missing.is_empty() {
        return Ok(());
    }
    let why = auth::refusal(&call.user, &missing);
    Err(StatusError::forbidden(RBAC, endpoint.plural(), meta::name(object), &why))
}
