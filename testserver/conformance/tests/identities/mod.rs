//! The users of the genuine servers' kubeconfigs, for an embedded server with RBAC.

use kube_testserver::{Builder, TestServer, User};
use serde_json::json;

/// The users with a token: name, group, token.
#[allow(dead_code)] // not read by every test
pub(crate) const TOKENS: [(&str, &str, &str); 3] = [
    ("token-admin", "system:masters", "admin-token"),
    ("token-viewer", "viewers", "viewer-token"),
    ("token-nobody", "nobodies", "nobody-token"),
];

/// A server with RBAC, `viewer`, whose credential is given, and the users with a token. Viewers may read everything.
pub(crate) fn with_users(viewer: User) -> Builder {
    let rules = json!([{"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list", "watch"]}]);
    let api_version = "rbac.authorization.k8s.io/v1";
    let role = json!({"apiVersion": api_version, "kind": "ClusterRole", "metadata": {"name": "read-all"}, "rules": rules});
    let binding = json!({"apiVersion": api_version, "kind": "ClusterRoleBinding", "metadata": {"name": "viewers"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "read-all"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "viewers"}]});
    let builder = TestServer::builder().with_user(viewer.group("viewers")).with_objects([role, binding]);
    TOKENS.into_iter().fold(builder, |builder, (name, group, token)| {
        builder.with_user(User::new(name).group(group).token(token))
    })
}
