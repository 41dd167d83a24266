//! Defaults and validation of roles and bindings.

use serde_json::Value;

use super::RBAC;
use crate::{
    object::{names, selector::LabelSelector},
    schema::FieldError,
    scheme::Endpoint,
};

/// Sets the API groups of a binding.
pub(crate) fn prepare(endpoint: &Endpoint, object: &mut Value) {
    if endpoint.group() != RBAC || !endpoint.kind().ends_with("Binding") {
        return;
    }
    let missing = |value: &Value| value["apiGroup"].as_str().unwrap_or_default().is_empty();
    if object["roleRef"].is_object() && missing(&object["roleRef"]) {
        object["roleRef"]["apiGroup"] = RBAC.into();
    }
    for subject in object
        .get_mut("subjects")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
        .filter(|subject| subject.is_object())
    {
        if matches!(subject["kind"].as_str(), Some("User" | "Group")) && missing(subject) {
            subject["apiGroup"] = RBAC.into();
        }
    }
}

/// Validates a role or binding.
pub(crate) fn validate(endpoint: &Endpoint, object: &Value) -> Vec<FieldError> {
    if endpoint.group() != RBAC {
        return Vec::new();
    }
    match endpoint.kind() {
        "Role" | "ClusterRole" => {
            let rules = object["rules"].as_array().into_iter().flatten().enumerate();
            let errors = rules.flat_map(|(at, rule)| rule_errors(rule, at, endpoint.resource.namespaced));
            errors.chain(aggregation_errors(&object["aggregationRule"])).collect()
        }
        _ => binding_errors(object, endpoint.resource.namespaced),
    }
}

fn rule_errors(rule: &Value, at: usize, namespaced: bool) -> Vec<FieldError> {
    let field = |name: &str| format!("rules[{at}].{name}");
    let empty = |name: &str| rule[name].as_array().is_none_or(Vec::is_empty);
    let mut errors = Vec::new();
    if empty("verbs") {
        errors.push(FieldError::required(field("verbs"), "verbs must contain at least one value"));
    }
    if !empty("nonResourceURLs") {
        let urls: Vec<String> =
            rule["nonResourceURLs"].as_array().into_iter().flatten().map(Value::to_string).collect();
        let shown = format!("[]string{{{}}}", urls.join(", "));
        let invalid = |detail: &str| FieldError::invalid(field("nonResourceURLs"), &shown, detail);
        if namespaced {
            errors.push(invalid("namespaced rules cannot apply to non-resource URLs"));
        }
        if !empty("apiGroups") || !empty("resources") || !empty("resourceNames") {
            errors.push(invalid("rules cannot apply to both regular resources and non-resource URLs"));
        }
        return errors;
    }
    if empty("apiGroups") {
        errors.push(FieldError::required(
            field("apiGroups"),
            "resource rules must supply at least one api group",
        ));
    }
    if empty("resources") {
        errors.push(FieldError::required(
            field("resources"),
            "resource rules must supply at least one resource",
        ));
    }
    errors
}

fn aggregation_errors(rule: &Value) -> Vec<FieldError> {
    const AT: &str = "aggregationRule.clusterRoleSelectors";
    let selectors = rule["clusterRoleSelectors"].as_array().map_or(&[][..], Vec::as_slice);
    if !rule.is_null() && selectors.is_empty() {
        let why = "at least one clusterRoleSelector required if aggregationRule is non-nil";
        return vec![FieldError::required(AT, why)];
    }
    let wrong = selectors.iter().enumerate().filter(|(_, selector)| !is_selector(selector));
    wrong.map(|(i, _)| FieldError::invalid(format!("{AT}[{i}]"), "null", "invalid label selector.")).collect()
}

fn is_selector(selector: &Value) -> bool {
    let labels = selector["matchLabels"].as_object().into_iter().flatten();
    let named = |(key, value): (&String, &Value)| {
        names::qualified_name(key).is_none()
            && names::label_value(value.as_str().unwrap_or_default()).is_none()
    };
    LabelSelector::from_object(selector).is_some() && labels.into_iter().all(named)
}

fn binding_errors(object: &Value, namespaced: bool) -> Vec<FieldError> {
    let text = |value: &Value, name: &str| value[name].as_str().unwrap_or_default().to_string();
    let one_of = |field: String, value: &str, supported: &[&str]| {
        let supported: Vec<String> = supported.iter().map(|s| format!("{s:?}")).collect();
        FieldError::not_supported(field, format!("{value:?}"), &supported)
    };
    let role = &object["roleRef"];
    let (group, kind, name) = (text(role, "apiGroup"), text(role, "kind"), text(role, "name"));
    let mut errors = Vec::new();
    if group != RBAC {
        errors.push(one_of("roleRef.apiGroup".into(), &group, &[RBAC]));
    }
    let kinds: &[&str] = if namespaced { &["Role", "ClusterRole"] } else { &["ClusterRole"] };
    if !kinds.contains(&kind.as_str()) {
        errors.push(one_of("roleRef.kind".into(), &kind, kinds));
    }
    if name.is_empty() {
        errors.push(FieldError::required("roleRef.name", ""));
    } else if let Some(why) = names::path_segment(&name) {
        errors.push(FieldError::invalid("roleRef.name", format!("{name:?}"), &why));
    }
    for (at, subject) in object["subjects"].as_array().into_iter().flatten().enumerate() {
        let field = |name: &str| format!("subjects[{at}].{name}");
        if text(subject, "name").is_empty() {
            errors.push(FieldError::required(field("name"), ""));
        }
        let kind = text(subject, "kind");
        let wanted = if kind == "ServiceAccount" { "" } else { RBAC };
        if matches!(kind.as_str(), "User" | "Group" | "ServiceAccount") && text(subject, "apiGroup") != wanted
        {
            errors.push(one_of(field("apiGroup"), &text(subject, "apiGroup"), &[wanted]));
        }
        match kind.as_str() {
            "User" | "Group" => {}
            "ServiceAccount"
                if !text(subject, "name").is_empty()
                    && names::subdomain(&text(subject, "name")).is_some() =>
            {
                let name = text(subject, "name");
                let why = names::subdomain(&name).unwrap_or_default();
                errors.push(FieldError::invalid(field("name"), format!("{name:?}"), &why));
            }
            "ServiceAccount" if namespaced || !text(subject, "namespace").is_empty() => {}
            "ServiceAccount" => errors.push(FieldError::required(field("namespace"), "")),
            kind => errors.push(one_of(field("kind"), kind, &["ServiceAccount", "User", "Group"])),
        }
    }
    errors
}
