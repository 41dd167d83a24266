//! Which permissions of a role are missing from those that a user holds.

use super::{AuthorizationAttributes, PolicyRule, User};

/// The permissions in `granted` that are not in `held`, by rule and resource.
pub(super) fn missing(held: &[&PolicyRule], granted: &[PolicyRule]) -> Vec<PolicyRule> {
    let holds = |attributes: &AuthorizationAttributes| held.iter().any(|rule| rule.allows(attributes));
    let mut missing: Vec<PolicyRule> = Vec::new();
    for rule in granted {
        for (group, resource) in pairs(&rule.api_groups, &rule.resources) {
            let names = if rule.resource_names.is_empty() {
                vec![String::new()]
            } else {
                rule.resource_names.clone()
            };
            for name in names {
                let lacks = |verb: &&String| {
                    let [verb, group, resource, name] = [verb, group, resource, &name].map(String::clone);
                    !holds(&AuthorizationAttributes::Resource {
                        verb,
                        group,
                        resource,
                        namespace: String::new(),
                        name,
                    })
                };
                let verbs: Vec<String> = rule.verbs.iter().filter(lacks).cloned().collect();
                missing.push(PolicyRule {
                    verbs,
                    api_groups: vec![group.clone()],
                    resources: vec![resource.clone()],
                    resource_names: Some(name).into_iter().filter(|name| !name.is_empty()).collect(),
                    non_resource_urls: Vec::new(),
                });
            }
        }
        for path in &rule.non_resource_urls {
            let lacks = |verb: &&String| {
                !holds(&AuthorizationAttributes::NonResource { verb: (*verb).clone(), path: path.clone() })
            };
            let verbs = rule.verbs.iter().filter(lacks).cloned().collect();
            missing.push(PolicyRule {
                verbs,
                non_resource_urls: vec![path.clone()],
                ..PolicyRule::default()
            });
        }
    }
    missing.retain(|rule| !rule.verbs.is_empty());
    missing
}

/// The message of the refusal.
pub(super) fn refusal(user: &User, missing: &[PolicyRule]) -> String {
    let rules: Vec<String> = missing.iter().map(shown).collect();
    format!(
        "user {:?} (groups={}) is attempting to grant RBAC permissions not currently held:\n{}",
        user.name,
        list(&user.groups),
        rules.join("\n")
    )
}

fn shown(rule: &PolicyRule) -> String {
    let parts = [
        ("APIGroups", &rule.api_groups),
        ("Resources", &rule.resources),
        ("ResourceNames", &rule.resource_names),
        ("NonResourceURLs", &rule.non_resource_urls),
        ("Verbs", &rule.verbs),
    ];
    let parts: Vec<String> =
        parts.iter().filter(|(_, l)| !l.is_empty()).map(|(name, l)| format!("{name}:{}", list(l))).collect();
    format!("{{{}}}", parts.join(", "))
}

/// A list of quoted strings in Go's format.
fn list(items: &[String]) -> String {
    let items: Vec<String> = items.iter().map(|item| format!("{item:?}")).collect();
    format!("[{}]", items.join(" "))
}

fn pairs<'a>(left: &'a [String], right: &'a [String]) -> impl Iterator<Item = (&'a String, &'a String)> {
    left.iter().flat_map(|l| right.iter().map(move |r| (l, r)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn missing_permissions_are_listed() {
        let rules = |value| serde_json::from_value::<Vec<PolicyRule>>(value).unwrap();
        let held = rules(json!([{"apiGroups": [""], "resources": ["pods", "secrets"], "verbs": ["get"]}]));
        let user = User::new("carl").with_implicit_group();
        let held: Vec<&PolicyRule> = held.iter().collect();
        let granted = rules(json!([
            {"apiGroups": [""], "resources": ["secrets", "pods"], "verbs": ["get"]},
            {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
            {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "list", "watch"], "resourceNames": ["x"]},
            {"nonResourceURLs": ["*"], "verbs": ["*"]},
        ]));
        assert_eq!(
            refusal(&user, &missing(&held, &granted)),
            "user \"carl\" (groups=[\"system:authenticated\"]) is attempting to grant RBAC permissions not currently held:\n\
             {APIGroups:[\"*\"], Resources:[\"*\"], Verbs:[\"*\"]}\n\
             {APIGroups:[\"\"], Resources:[\"secrets\"], ResourceNames:[\"x\"], Verbs:[\"list\" \"watch\"]}\n\
             {NonResourceURLs:[\"*\"], Verbs:[\"*\"]}"
        );
        assert!(missing(&held, &granted[..1]).is_empty());
    }
}
