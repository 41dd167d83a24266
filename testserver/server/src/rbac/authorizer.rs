//! The authorizer over roles and bindings, and the roles that every cluster starts with.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::{AuthorizationAttributes, PolicyRule, User};

/// The RBAC authorizer: all RBAC objects, parsed once after every change.
#[derive(Debug, Default)]
pub(crate) struct RbacAuthorizer {
    /// Rules by namespace (empty for ClusterRoles) and name.
    roles: BTreeMap<(String, String), Vec<PolicyRule>>,
    /// By namespace; empty for ClusterRoleBindings.
    bindings: BTreeMap<String, Vec<Binding>>,
}

#[derive(Debug)]
struct Binding {
    name: String,
    /// Namespace and name of the role; no namespace for a ClusterRole.
    role: (String, String),
    subjects: Vec<Subject>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Subject {
    kind: String,
    name: String,
    namespace: String,
}

/// A rule granted to a user, and by which binding.
#[derive(Clone, Debug)]
pub(crate) struct Grant<'a> {
    pub(crate) rule: &'a PolicyRule,
    /// The reason, as access reviews return it.
    reason: String,
}

impl RbacAuthorizer {
    /// Reads objects of the four kinds in any order.
    pub(crate) fn read(objects: impl IntoIterator<Item = Value>) -> Self {
        let mut all = Self::default();
        for object in objects {
            let metadata = |field: &str| object["metadata"][field].as_str().unwrap_or_default().to_string();
            let (namespace, name) = (metadata("namespace"), metadata("name"));
            match object["kind"].as_str() {
                Some("Role" | "ClusterRole") => {
                    let rules = Vec::deserialize(&object["rules"]).unwrap_or_default();
                    all.roles.insert((namespace, name), rules);
                }
                Some("RoleBinding" | "ClusterRoleBinding") => {
                    let role = &object["roleRef"];
                    let text = |field: &str| role[field].as_str().unwrap_or_default().to_string();
                    let of = if text("kind") == "Role" { namespace.clone() } else { String::new() };
                    let subjects = Vec::deserialize(&object["subjects"]).unwrap_or_default();
                    let binding = Binding { name, role: (of, text("name")), subjects };
                    all.bindings.entry(namespace).or_default().push(binding);
                }
                _ => {}
            }
        }
        all
    }

    /// The reason why the user is allowed; `None` when not.
    pub(crate) fn allows(&self, user: &User, attributes: &AuthorizationAttributes) -> Option<String> {
        if user.is_superuser() {
            return Some(String::new());
        }
        let namespace = match attributes {
            AuthorizationAttributes::Resource { namespace, .. } => namespace,
            AuthorizationAttributes::NonResource { .. } => "",
        };
        self.grants(user, namespace).find(|grant| grant.rule.allows(attributes)).map(|grant| grant.reason)
    }

    /// All rules granted to a user in a namespace, cluster-wide ones first.
    pub(crate) fn grants<'a>(
        &'a self,
        user: &'a User,
        namespace: &'a str,
    ) -> impl Iterator<Item = Grant<'a>> {
        let scopes = [Some(""), Some(namespace).filter(|namespace| !namespace.is_empty())];
        let scoped = scopes.into_iter().flatten().flat_map(|scope| {
            self.bindings.get(scope).into_iter().flatten().map(move |binding| (scope, binding))
        });
        scoped.flat_map(move |(scope, binding)| {
            let subject = binding.subjects.iter().find(|subject| subject.is(user, scope));
            let rules = subject.and_then(|_| self.roles.get(&binding.role)).into_iter().flatten();
            rules.map(move |rule| Grant {
                rule,
                reason: subject.map(|subject| binding.reason(scope, subject)).unwrap_or_default(),
            })
        })
    }

    pub(crate) fn role(&self, namespace: &str, name: &str) -> Option<&[PolicyRule]> {
        self.roles.get(&(namespace.to_string(), name.to_string())).map(Vec::as_slice)
    }
}

impl Binding {
    fn reason(&self, scope: &str, subject: &Subject) -> String {
        let (kind, name) = match scope {
            "" => ("ClusterRoleBinding", self.name.clone()),
            namespace => ("RoleBinding", format!("{}/{namespace}", self.name)),
        };
        let role = if self.role.0.is_empty() { "ClusterRole" } else { "Role" };
        let subject_name = match subject.kind.as_str() {
            "ServiceAccount" => format!("{}/{}", subject.name, subject.namespace),
            _ => subject.name.clone(),
        };
        format!(
            "RBAC: allowed by {kind} {name:?} of {role} {:?} to {} {subject_name:?}",
            self.role.1, subject.kind
        )
    }
}

impl Subject {
    fn is(&self, user: &User, scope: &str) -> bool {
        match self.kind.as_str() {
            "User" => self.name == user.name,
            "Group" => user.groups.contains(&self.name),
            "ServiceAccount" => {
                let namespace = if self.namespace.is_empty() { scope } else { &self.namespace };
                user.service_account() == Some((namespace, self.name.as_str()))
            }
            _ => false,
        }
    }
}

static TABLE: &str = include_str!("../../data/rbac.jsonl");

/// The bootstrap roles and bindings of a cluster with RBAC.
pub(crate) fn bootstrap_objects() -> Vec<Value> {
    let line = |line| {
        serde_json::from_str(line)
            .expect("invariant: every line of the RBAC table is an object, checked by a test")
    };
    TABLE.lines().map(line).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn attributes(namespace: &str, resource: &str) -> AuthorizationAttributes {
        let [verb, group, name] = ["get", "", "x"].map(String::from);
        AuthorizationAttributes::Resource {
            verb,
            group,
            resource: resource.into(),
            namespace: namespace.into(),
            name,
        }
    }

    #[test]
    fn permissions_come_from_bindings() {
        let rules = |resource: &str| json!([{"apiGroups": [""], "resources": [resource], "verbs": ["get"]}]);
        let bindings = RbacAuthorizer::read([
            json!({"kind": "ClusterRole", "metadata": {"name": "pods"}, "rules": rules("pods")}),
            json!({"kind": "Role", "metadata": {"name": "maps", "namespace": "a"}, "rules": rules("configmaps")}),
            json!({"kind": "ClusterRoleBinding", "metadata": {"name": "all"}, "roleRef": {"kind": "ClusterRole", "name": "pods"},
                "subjects": [{"kind": "Group", "name": "g"}]}),
            json!({"kind": "RoleBinding", "metadata": {"name": "here", "namespace": "a"}, "roleRef": {"kind": "Role", "name": "maps"},
                "subjects": [{"kind": "User", "name": "u"}, {"kind": "ServiceAccount", "name": "s", "namespace": "b"}]}),
            json!({"kind": "RoleBinding", "metadata": {"name": "gone", "namespace": "a"}, "roleRef": {"kind": "Role", "name": "none"},
                "subjects": [{"kind": "User", "name": "u"}]}),
        ]);
        let reason =
            |user: &User, namespace, resource| bindings.allows(user, &attributes(namespace, resource));
        let (ann, user) = (User::new("ann").group("g"), User::new("u"));
        let all = "RBAC: allowed by ClusterRoleBinding \"all\" of ClusterRole \"pods\" to Group \"g\"";
        assert_eq!(reason(&ann, "z", "pods").as_deref(), Some(all));
        assert_eq!(reason(&ann, "", "pods").as_deref(), Some(all));
        assert_eq!(reason(&ann, "a", "configmaps"), None);
        let here = "RBAC: allowed by RoleBinding \"here/a\" of Role \"maps\" to User \"u\"";
        assert_eq!(reason(&user, "a", "configmaps").as_deref(), Some(here));
        assert_eq!((reason(&user, "b", "configmaps"), reason(&user, "", "configmaps")), (None, None));
        let account = User::new("system:serviceaccount:b:s");
        let to = "RBAC: allowed by RoleBinding \"here/a\" of Role \"maps\" to ServiceAccount \"s/b\"";
        assert_eq!(reason(&account, "a", "configmaps").as_deref(), Some(to));
        assert_eq!(reason(&User::admin(), "q", "anything").as_deref(), Some(""));
    }

    #[test]
    fn the_table_is_readable() {
        let kinds: Vec<String> =
            bootstrap_objects().iter().map(|object| object["kind"].as_str().unwrap().to_string()).collect();
        assert_eq!(kinds.iter().filter(|kind| *kind == "ClusterRole").count(), 10);
        assert_eq!(kinds.iter().filter(|kind| *kind == "ClusterRoleBinding").count(), 4);
    }
}
