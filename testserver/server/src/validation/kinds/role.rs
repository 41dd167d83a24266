//! Roles: what their rules apply to, and the selectors of aggregated ones.

use serde_json::Value;

use super::Write;
use crate::{
    object::{names, selector::LabelSelector},
    schema::ErrorList,
    validation::values::items,
};

pub(super) fn validate(write: &Write<'_>, errors: &mut ErrorList) {
    for (i, rule) in items(write.object, "rules") {
        judge(rule, &format!("rules[{i}]"), write.endpoint.resource.namespaced, errors);
    }
    aggregation(&write.object["aggregationRule"], errors);
}

fn judge(rule: &Value, at: &str, namespaced: bool, errors: &mut ErrorList) {
    let empty = |name: &str| rule[name].as_array().is_none_or(Vec::is_empty);
    if empty("verbs") {
        errors.required(format!("{at}.verbs"), "verbs must contain at least one value");
    }
    if !empty("nonResourceURLs") {
        let urls: Vec<String> = items(rule, "nonResourceURLs").map(|(_, url)| url.to_string()).collect();
        let printed = format!("[]string{{{}}}", urls.join(", "));
        let mut refuse = |why: &str| errors.invalid(format!("{at}.nonResourceURLs"), &printed, why);
        if namespaced {
            refuse("namespaced rules cannot apply to non-resource URLs");
        }
        if !empty("apiGroups") || !empty("resources") || !empty("resourceNames") {
            refuse("rules cannot apply to both regular resources and non-resource URLs");
        }
        return;
    }
    if empty("apiGroups") {
        errors.required(format!("{at}.apiGroups"), "resource rules must supply at least one api group");
    }
    if empty("resources") {
        errors.required(format!("{at}.resources"), "resource rules must supply at least one resource");
    }
}

fn aggregation(rule: &Value, errors: &mut ErrorList) {
    const AT: &str = "aggregationRule.clusterRoleSelectors";
    if !rule.is_null() && items(rule, "clusterRoleSelectors").next().is_none() {
        errors.required(AT, "at least one clusterRoleSelector required if aggregationRule is non-nil");
    }
    for (i, _) in items(rule, "clusterRoleSelectors").filter(|(_, selector)| !is_selector(selector)) {
        errors.invalid(format!("{AT}[{i}]"), "null", "invalid label selector.");
    }
}

fn is_selector(selector: &Value) -> bool {
    let mut labels = selector["matchLabels"].as_object().into_iter().flatten();
    let named = |(key, value): (&String, &Value)| {
        names::qualified_name(key).is_none()
            && names::label_value(value.as_str().unwrap_or_default()).is_none()
    };
    LabelSelector::from_object(selector).is_some() && labels.all(named)
}
