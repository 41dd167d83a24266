//! Where pods run: affinity, tolerations, spread over a topology.

use serde_json::{Value, json};

use super::values::{is_set, items, text};
use crate::{object::names, schema::ErrorList};

pub(super) fn toleration(value: &Value, at: &str, errors: &mut ErrorList) {
    let (key, operator) = (text(value, "key"), text(value, "operator"));
    if !key.is_empty()
        && let Some(why) = names::qualified_name(key)
    {
        errors.invalid(format!("{at}.key"), &value["key"], &why);
    }
    if key.is_empty() && operator != "Exists" {
        let why =
            "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
        errors.invalid(format!("{at}.operator"), json!(operator), why);
    }
    if is_set(&value["tolerationSeconds"]) && text(value, "effect") != "NoExecute" {
        let why = "effect must be 'NoExecute' when `tolerationSeconds` is set";
        errors.invalid(format!("{at}.effect"), json!(text(value, "effect")), why);
    }
    match operator {
        "" | "Equal" => {
            let why = names::label_value(text(value, "value"));
            errors.problem(format!("{at}.operator"), &value["value"], why);
        }
        "Exists" if !text(value, "value").is_empty() => {
            let why = "value must be empty when `operator` is 'Exists'";
            errors.invalid(format!("{at}.operator"), &value["value"], why);
        }
        "Exists" => {}
        _ => {
            let supported = ["Equal", "Exists", "Lt", "Gt"];
            // The gate of the last two is off.
            let supported = if matches!(operator, "Lt" | "Gt") { &supported[..] } else { &supported[..2] };
            errors.not_supported(format!("{at}.operator"), format!("{operator:?}"), supported);
        }
    }
}

/// A requirement of a selector: the values that its operator needs.
pub(super) fn requirement(value: &Value, at: &str, errors: &mut ErrorList) {
    let count = value["values"].as_array().map_or(0, Vec::len);
    let place = format!("{at}.values");
    match text(value, "operator") {
        "In" | "NotIn" if count == 0 => {
            errors.required(place, "must be specified when `operator` is 'In' or 'NotIn'");
        }
        "Exists" | "DoesNotExist" if count > 0 => {
            errors.forbidden(place, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
        }
        "Gt" | "Lt" if count != 1 => {
            errors.required(place, "must be specified single value when `operator` is 'Lt' or 'Gt'");
        }
        "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt" => {}
        _ => operator(value, at, errors),
    }
    for why in names::qualified_name_problems(text(value, "key")) {
        errors.invalid(format!("{at}.key"), json!(text(value, "key")), &why);
    }
    // Preferences are wishes.
    for (i, text) in items(value, "values").filter(|_| !at.contains(".preference.")) {
        let why = names::label_value(text.as_str().unwrap_or_default());
        errors.problem(format!("{at}.values[{i}]"), text, why);
    }
}

/// A requirement of labels or of fields of nodes, of which only the name is known.
pub(super) fn node_requirement(value: &Value, at: &str, errors: &mut ErrorList) {
    if !at.contains(".matchFields[") {
        return requirement(value, at, errors);
    }
    match text(value, "operator") {
        "In" | "NotIn" if value["values"].as_array().map_or(0, Vec::len) != 1 => {
            let why = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
            errors.required(format!("{at}.values"), why);
        }
        "In" | "NotIn" => {}
        _ => operator(value, at, errors),
    }
    let key = text(value, "key");
    if key != "metadata.name" {
        return errors.invalid(format!("{at}.key"), json!(key), "not a valid field selector key");
    }
    for (i, name) in items(value, "values") {
        let why = names::subdomain(name.as_str().unwrap_or_default());
        errors.problem(format!("{at}.values[{i}]"), name, why);
    }
}

fn operator(value: &Value, at: &str, errors: &mut ErrorList) {
    let printed = json!(text(value, "operator"));
    errors.invalid(format!("{at}.operator"), &printed, "not a valid selector operator");
}

pub(super) fn affinity(value: &Value, at: &str, errors: &mut ErrorList) {
    for (_, namespace) in items(value, "namespaces") {
        let why = names::dns_label(namespace.as_str().unwrap_or_default());
        errors.problem(format!("{at}.namespace"), namespace, why);
    }
    let others = value["mismatchLabelKeys"].as_array();
    for member in ["matchLabelKeys", "mismatchLabelKeys"] {
        needs_selector(value, member, at, errors);
    }
    for (i, key) in
        items(value, "matchLabelKeys").filter(|(_, key)| others.is_some_and(|keys| keys.contains(key)))
    {
        let why = "exists in both matchLabelKeys and mismatchLabelKeys";
        errors.invalid(format!("{at}.matchLabelKeys[{i}]"), key, why);
    }
}

fn needs_selector(value: &Value, member: &str, at: &str, errors: &mut ErrorList) {
    if value["labelSelector"].is_null() && items(value, member).next().is_some() {
        errors.forbidden(format!("{at}.{member}"), "must not be specified when labelSelector is not set");
    }
}

pub(super) fn spread(value: &Value, at: &str, errors: &mut ErrorList) {
    let (domains, otherwise) = (&value["minDomains"], text(value, "whenUnsatisfiable"));
    if is_set(domains) && otherwise != "DoNotSchedule" {
        let why = format!("can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {otherwise}");
        errors.invalid(format!("{at}.minDomains"), domains, &why);
    }
    needs_selector(value, "matchLabelKeys", at, errors);
}

/// Each constraint of a pod is for another topology.
pub(super) fn spreads(pod: &Value, at: &str, errors: &mut ErrorList) {
    let pair =
        |value: &Value| format!("{{{}, {}}}", text(value, "topologyKey"), text(value, "whenUnsatisfiable"));
    let pairs: Vec<String> = items(pod, "topologySpreadConstraints").map(|(_, value)| pair(value)).collect();
    for (i, pair) in pairs.iter().enumerate() {
        if pairs[i + 1..].contains(pair) {
            let place = format!("{at}.topologySpreadConstraints[{i}].{{topologyKey, whenUnsatisfiable}}");
            errors.duplicate(place, format!("{pair:?}"));
        }
    }
}
