//! From the refusal of a request to the permission that it lacked.

use super::{
    access::{Access, ResourceAccess},
    permissions::Permissions,
};
use kube_core::Status;

/// The verbs of requests. Others, such as `escalate`, are not what a request is refused for alone.
const VERBS: [&str; 8] = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];

/// The permission that the request with this response lacked. `None` if that is no refusal of an authorizer: admission refuses with 403,
/// too.
///
/// Only the message says the verb and the namespace:
/// `User "u" cannot patch resource "deployments/status" in API group "apps" in the namespace "shop"`, or `... at the cluster scope`.
pub(crate) fn refused_permission(status: &Status) -> Option<Permissions> {
    let (_, request) = status.message.split_once("\" cannot ").filter(|_| status.is_forbidden())?;
    let mut parts = request.split('"');
    let mut next = || parts.next();
    let verb = next()?.strip_suffix(" resource ")?;
    let verb = VERBS.into_iter().find(|known| *known == verb)?;
    let resource = next()?.to_owned();
    next().filter(|text| *text == " in API group ")?;
    let group = next()?.to_owned();
    let namespace = match next()? {
        " in the namespace " => Some(next()?.to_owned()),
        rest if rest.starts_with(" at the cluster scope") => None,
        _ => return None,
    };
    let access = ResourceAccess { namespace, group, resource, name: None, verb };
    Some(Permissions::new([Access::Resource(access)].into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(message: &str) -> Option<String> {
        let status = Status::failure(message, "Forbidden").with_code(403);
        refused_permission(&status).map(|permissions| permissions.to_yaml("op"))
    }

    /// The messages are those of a genuine v1.37.
    #[test]
    fn the_message_of_an_authorizer_is_a_rule() {
        let namespaced = rule(
            r#"deployments.apps "web" is forbidden: User "system:serviceaccount:shop:op" cannot patch resource "deployments/status" in API group "apps" in the namespace "shop""#,
        );
        let expected = "\
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: \"op\"
  namespace: \"shop\"
rules:
- apiGroups: [\"apps\"]
  resources: [\"deployments/status\"]
  verbs: [\"patch\"]
";
        assert_eq!(namespaced.as_deref(), Some(expected));
        let in_cluster = rule(
            r#"nodes is forbidden: User "op" cannot list resource "nodes" in API group "" at the cluster scope: RBAC: clusterrole.rbac.authorization.k8s.io "x" not found"#,
        );
        let in_cluster = in_cluster.unwrap();
        assert!(
            in_cluster.contains("kind: ClusterRole\n") && in_cluster.contains(r#"["list"]"#),
            "{in_cluster}"
        );
    }

    #[test]
    fn other_refusals_are_no_rule() {
        let quota = r#"pods "a" is forbidden: exceeded quota: small, requested: pods=1, used: pods=1, limited: pods=1"#;
        let terminating = r#"configmaps "a" is forbidden: unable to create new content in namespace x because it is being terminated"#;
        let path = r#"forbidden: User "op" cannot get path "/metrics""#;
        for message in [quota, terminating, path, "", "\" cannot ", r#"User "op" cannot list resource "pods"#]
        {
            assert_eq!(rule(message), None, "{message}");
        }
        let list = r#"pods is forbidden: User "op" cannot list resource "pods" in API group "" at the cluster scope"#;
        assert!(rule(list).is_some());
        assert!(refused_permission(&Status::failure(list, "Conflict").with_code(409)).is_none());
    }
}
