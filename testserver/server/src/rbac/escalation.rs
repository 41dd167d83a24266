//! Refuses writes that grant more than their author has: roles, and bindings to roles.

use http::StatusCode;
use serde_json::Value;

use super::{
    Access, AuthorizationAttributes, PolicyRule, RBAC, User,
    coverage::{missing, refusal},
};
use crate::{object::meta, scheme::Endpoint, status_error::StatusError, storage::Storage};

/// A write, which may be of a role or a binding.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RoleWrite<'a> {
    pub(crate) user: &'a User,
    pub(crate) endpoint: &'a Endpoint,
    pub(crate) namespace: Option<&'a str>,
    pub(crate) object: &'a Value,
    pub(crate) old: Option<&'a Value>,
}

impl RoleWrite<'_> {
    /// Refuses a role with more permissions than the user has, or a binding to one, unless the user may `escalate` or `bind`.
    pub(crate) fn check(&self, access: &Access, storage: &Storage) -> Result<(), StatusError> {
        let Self { user, endpoint, namespace, object, old } = *self;
        if endpoint.group() != RBAC || !access.enforces_rbac() || user.is_superuser() {
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
        if let Some(kind) = role.map(|role| role["kind"].as_str().unwrap_or_default())
            && !matches!(kind, "Role" | "ClusterRole")
        {
            let why = format!("unsupported role reference kind: {kind:?}");
            return Err(StatusError::new(StatusCode::INTERNAL_SERVER_ERROR, "", why));
        }
        let bindings = access.authorizer(storage);
        let namespace = namespace.unwrap_or_default();
        let (plural, name) = match role {
            None => (endpoint.plural(), meta::name(object)),
            Some(role) => {
                let plural = if role["kind"] == "Role" { "roles" } else { "clusterroles" };
                (plural, role["name"].as_str().unwrap_or_default())
            }
        };
        let [verb, group, resource, requested, inside] =
            [verb, RBAC, plural, name, namespace].map(String::from);
        let escalate_or_bind =
            AuthorizationAttributes::Resource { verb, group, resource, namespace: inside, name: requested };
        if bindings.allows(user, &escalate_or_bind).is_some() {
            return Ok(());
        }
        let rules: Vec<PolicyRule> = match role {
            None => serde_json::from_value(object["rules"].clone()).unwrap_or_default(),
            Some(_) => {
                let home = if plural == "roles" { namespace } else { "" };
                let rules = bindings
                    .role(home, name)
                    .ok_or_else(|| StatusError::not_found(RBAC, endpoint.plural(), name))?;
                rules.to_vec()
            }
        };
        let held: Vec<&PolicyRule> = bindings.grants(user, namespace).map(|grant| grant.rule).collect();
        let missing = missing(&held, &rules);
        if missing.is_empty() {
            return Ok(());
        }
        let why = refusal(user, &missing);
        Err(StatusError::forbidden(RBAC, endpoint.plural(), meta::name(object), &why))
    }
}
