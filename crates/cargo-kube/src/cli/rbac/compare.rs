//! Permissions as lines, with the parts of the program that need them.

use std::collections::{BTreeMap, BTreeSet};

use super::grants::{Grant, Grants, ResourceGrant};

/// A part of a program and what it needs.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) name: String,
    pub(super) grants: Grants,
}

/// A line for all verbs on the same thing that the same parts need.
pub(super) fn lines(grants: &BTreeSet<Grant>, parts: &[Part]) -> Vec<String> {
    let mut verbs: BTreeMap<(String, BTreeSet<&str>), Vec<&str>> = BTreeMap::new();
    for grant in grants {
        let needed_by = parts.iter().filter(|part| part.grants.permits(grant)).map(|part| part.name.as_str());
        let verb = match grant {
            Grant::Resource(grant) => &grant.verb,
            Grant::Path { verb, .. } => verb,
        };
        verbs.entry((object(grant), needed_by.collect())).or_default().push(verb);
    }
    let line = |((object, parts), verbs): ((String, BTreeSet<&str>), Vec<&str>)| {
        let parts: Vec<_> = parts.into_iter().collect();
        let needed_by = if parts.is_empty() { String::new() } else { format!(": {}", parts.join(", ")) };
        format!("{} {object}{needed_by}", verbs.join(","))
    };
    verbs.into_iter().map(line).collect()
}

/// `deployments.apps in all namespaces`.
fn object(grant: &Grant) -> String {
    let ResourceGrant { group, resource, namespace, name, .. } = match grant {
        Grant::Path { path, .. } => return path.clone(),
        Grant::Resource(grant) => grant,
    };
    // The subresource is behind the whole name, as in messages of servers.
    let (plural, subresource) = match resource.split_once('/') {
        Some((plural, subresource)) => (plural, format!("/{subresource}")),
        None => (resource.as_str(), String::new()),
    };
    let group = if group.is_empty() { String::new() } else { format!(".{group}") };
    let name = name.as_ref().map(|name| format!(" {name}")).unwrap_or_default();
    let place = match namespace {
        Some(namespace) => format!(" in {namespace}"),
        None => " everywhere".to_owned(),
    };
    format!("{plural}{group}{subresource}{name}{place}")
}

#[cfg(test)]
mod tests {
    use std::slice::from_ref;

    use super::*;
    use crate::cli::rbac::grants::Account;
    use serde_json::{Value, json};

    fn role(kind: &str, namespace: Option<&str>, rules: Value) -> Value {
        json!({ "kind": kind, "metadata": { "name": "op", "namespace": namespace }, "rules": rules })
    }

    fn binding(kind: &str, namespace: Option<&str>, to: (&str, &str)) -> Value {
        let subject = json!({ "kind": "ServiceAccount", "name": "op", "namespace": "tools" });
        let role = json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": to.0, "name": to.1 });
        json!({ "kind": kind, "metadata": { "name": "op", "namespace": namespace }, "roleRef": role, "subjects": [subject] })
    }

    fn rule(group: &str, resources: &[&str], verbs: &[&str]) -> Value {
        json!({ "apiGroups": [group], "resources": resources, "verbs": verbs })
    }

    fn bound(rules: &[Value]) -> Grants {
        let objects = [
            role("ClusterRole", None, json!(rules)),
            binding("ClusterRoleBinding", None, ("ClusterRole", "op")),
        ];
        Grants::of(&objects, &Account::bound_by(&objects)).unwrap()
    }

    fn missing(needed: &[Value], present: &[Value]) -> Vec<String> {
        lines(&bound(needed).missing_from(&bound(present)), &[])
    }

    #[test]
    fn a_line_has_the_verbs_and_who_needs_them() {
        let needed = bound(&[rule("apps", &["deployments", "deployments/status"], &["get", "patch"])]);
        let part = |name: &str, resource: &str| Part {
            name: name.to_owned(),
            grants: bound(&[rule("apps", &[resource], &["*"])]),
        };
        // Two parts of one name, such as the same declaration of two controllers, are named once.
        let pages = || part("the controller pages", "deployments");
        let parts = [pages(), part("leader election", "leases"), pages()];
        assert_eq!(
            lines(&needed.into_grants(), &parts),
            [
                "get,patch deployments.apps everywhere: the controller pages",
                "get,patch deployments.apps/status everywhere"
            ]
        );
    }

    #[test]
    fn wildcards_permit_what_they_stand_for() {
        let needed = [rule("", &["pods", "pods/log"], &["get"])];
        for present in [
            rule("*", &["*"], &["*"]),
            rule("", &["*", "*/log"], &["get"]),
            rule("", &["pods", "pods/log"], &["*"]),
        ] {
            assert_eq!(missing(&needed, from_ref(&present)), [""; 0], "{present}");
            assert_ne!(missing(&[present], &needed), [""; 0], "a wildcard is more than what is needed");
        }
        assert_eq!(missing(&needed, &[rule("", &["pods"], &["get"])]), ["get pods/log everywhere"]);
        assert_eq!(missing(&needed, &[rule("", &["*/status", "pods"], &["get"])]).len(), 1);
        let paths = |path: &str| json!({ "nonResourceURLs": [path], "verbs": ["get"] });
        assert_eq!(missing(&[paths("/debug/a")], &[paths("/debug/*")]), [""; 0]);
        assert_eq!(missing(&[paths("/debug/*")], &[paths("/debug/a")]), ["get /debug/*"]);
    }

    #[test]
    fn names_and_namespaces_restrict() {
        let named =
            json!({ "apiGroups": [""], "resources": ["secrets"], "resourceNames": ["a"], "verbs": ["get"] });
        let all = rule("", &["secrets"], &["get"]);
        assert_eq!(missing(from_ref(&named), from_ref(&all)), [""; 0]);
        assert_eq!(missing(from_ref(&all), &[named]), ["get secrets everywhere"]);
        let objects =
            [role("Role", Some("shop"), json!([all])), binding("RoleBinding", Some("shop"), ("Role", "op"))];
        let in_shop = Grants::of(&objects, &Account::bound_by(&objects)).unwrap();
        assert_eq!(lines(&in_shop.missing_from(&bound(&[])), &[]), ["get secrets in shop"]);
        assert!(in_shop.missing_from(&bound(from_ref(&all))).is_empty());
        assert_eq!(lines(&bound(&[all]).missing_from(&in_shop), &[]), ["get secrets everywhere"]);
    }

    #[test]
    fn only_roles_count_that_are_bound_to_the_account() {
        let rules = json!([rule("", &["pods"], &["get"])]);
        let accounts = Account::bound_by(&[binding("RoleBinding", None, ("Role", "op"))]);
        let unbound = [role("ClusterRole", None, rules.clone())];
        assert!(Grants::of(&unbound, &accounts).unwrap().into_grants().is_empty());
        // A binding in a namespace permits what a cluster role says in that namespace.
        let narrowed =
            [role("ClusterRole", None, rules), binding("RoleBinding", Some("shop"), ("ClusterRole", "op"))];
        let narrowed = Grants::of(&narrowed, &accounts).unwrap();
        assert_eq!(lines(&narrowed.into_grants(), &[]), ["get pods in shop"]);
        let elsewhere = [binding("RoleBinding", Some("shop"), ("ClusterRole", "view"))];
        let elsewhere = Grants::of(&elsewhere, &accounts).unwrap();
        assert_eq!(elsewhere.unknown_roles.into_iter().collect::<Vec<_>>(), ["ClusterRole view"]);
        let mut other = binding("RoleBinding", None, ("ClusterRole", "op"));
        other["subjects"][0]["name"] = "another".into();
        let other = [role("ClusterRole", None, json!([rule("", &["pods"], &["get"])])), other];
        assert!(Grants::of(&other, &accounts).unwrap().into_grants().is_empty());
    }

    #[test]
    fn a_role_that_cannot_be_read_is_named() {
        let bad = json!({ "kind": "Role", "metadata": { "name": "op" }, "rules": [{ "verbs": "get" }] });
        let err = Grants::of(&[bad], &std::collections::BTreeSet::new()).unwrap_err().to_string();
        assert!(err.starts_with("Role op: "), "{err}");
    }
}
