//! Webhooks on what an operator needs in order to start leave out its namespace: while no replica serves, none could start.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};

use super::registration::{FailurePolicy, Registration, Resources};

/// The label that every namespace has with its name.
const NAME_LABEL: &str = "kubernetes.io/metadata.name";

/// What a deployed operator consists of, and what it and its pods write before they serve, with their groups.
const NEEDED: [(&str, &[&str]); 7] = [
    // Pods mount the ConfigMap kube-root-ca.crt, which a controller of the cluster writes into a new namespace.
    ("", &["configmaps", "endpoints", "namespaces", "pods", "secrets", "serviceaccounts", "services"]),
    ("acme.cert-manager.io", &["challenges", "orders"]),
    ("apps", &["deployments", "replicasets"]),
    ("cert-manager.io", &["certificaterequests", "certificates"]),
    ("coordination.k8s.io", &["leases"]),
    ("discovery.k8s.io", &["endpointslices"]),
    ("rbac.authorization.k8s.io", &["rolebindings", "roles"]),
];

/// The selector of a webhook: that of its registration, without the namespace of the operator if the webhook could keep it from starting.
///
/// # Errors
/// The registration asks for this namespace by its name: then the webhook would be called never.
pub(super) fn selector(
    registration: &Registration,
    resources: &[Resources],
    own: &str,
) -> Result<Option<LabelSelector>, String> {
    let given = registration.namespace_selector.clone();
    let Some(needed) = needed(resources).filter(|_| registration.failure_policy == FailurePolicy::Fail)
    else {
        return Ok(given);
    };
    if given.as_ref().is_some_and(|selector| names(selector, own)) {
        return Err(needed);
    }
    let mut selector = given.unwrap_or_default();
    selector.match_expressions.get_or_insert_default().push(LabelSelectorRequirement {
        key: NAME_LABEL.into(),
        operator: "NotIn".into(),
        values: Some(vec![own.to_owned()]),
    });
    Ok(Some(selector))
}

/// The first of these resources that an operator needs.
fn needed(resources: &[Resources]) -> Option<String> {
    let of_rule = |rule: &Resources| {
        let (group, plural) = NEEDED
            .iter()
            .filter(|(group, _)| rule.group == "*" || rule.group == *group)
            .find_map(|(group, plurals)| Some((*group, plurals.iter().find(|plural| has(rule, plural))?)))?;
        Some(if group.is_empty() { (*plural).to_owned() } else { format!("{plural}.{group}") })
    };
    resources.iter().find_map(of_rule)
}

/// Whether a rule has this resource or one of its subresources.
fn has(rule: &Resources, plural: &str) -> bool {
    rule.resources.iter().any(|resource| {
        let resource = resource.split('/').next().unwrap_or_default();
        resource == "*" || resource == plural
    })
}

/// Whether a selector wants the namespace of this name.
fn names(selector: &LabelSelector, namespace: &str) -> bool {
    let label =
        selector.match_labels.iter().flatten().any(|(key, value)| key == NAME_LABEL && value == namespace);
    let expression = selector.match_expressions.iter().flatten().any(|requirement| {
        let values = requirement.values.iter().flatten();
        requirement.key == NAME_LABEL && requirement.operator == "In" && values.eq([namespace])
    });
    label || expression
}
