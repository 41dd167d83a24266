//! Volumes, claims, their classes and drivers.

use serde_json::{Value, json};

use super::{
    resources,
    values::{is_set, items, text},
};
use crate::{object::names, schema::ErrorList};

pub(super) fn secret_reference(value: &Value, at: &str, errors: &mut ErrorList) {
    // Volumes for all pods say where their secrets are, with exceptions.
    let needed: &[&str] = match at.strip_prefix("spec.").unwrap_or_default() {
        "iscsi.secretRef" => &["name"],
        "cinder.secretRef" => &["name", "namespace"],
        csi if csi.starts_with("csi.") && !csi.ends_with("nodeStageSecretRef") => &["name", "namespace"],
        _ => &[],
    };
    for member in needed.iter().filter(|member| text(value, member).is_empty()) {
        errors.required(format!("{at}.{member}"), "");
    }
}

pub(super) fn persistent(value: &Value, at: &str, errors: &mut ErrorList) {
    let inline = at.ends_with("inlineVolumeSpec");
    if !inline {
        resources::capacity(value, at, errors);
    }
    classes(value, at, errors);
    if is_set(&value["volumeAttributesClassName"]) && value["csi"].is_null() {
        errors.required(format!("{at}.csi"), "has to be specified when using volumeAttributesClassName");
    }
    // Of several sources only the first is looked at.
    let second = errors.iter().any(|error| error.field == format!("{at}.local"));
    if is_set(&value["local"]) && !second && value["nodeAffinity"].is_null() {
        errors.required(format!("{at}.nodeAffinity"), "Local volume requires node affinity");
    }
    if value["hostPath"]["path"] == "/" && value["persistentVolumeReclaimPolicy"] == "Recycle" {
        let why = "may not be 'recycle' for a hostPath mount of '/'";
        errors.forbidden(format!("{at}.persistentVolumeReclaimPolicy"), why);
    }
}

pub(super) fn claim(value: &Value, at: &str, errors: &mut ErrorList) {
    classes(value, at, errors);
    let (source, reference) = (&value["dataSource"], &value["dataSourceRef"]);
    for (member, source) in [("dataSource", source), ("dataSourceRef", reference)] {
        if is_set(source) {
            data_source(source, &format!("{at}.{member}"), errors);
        }
    }
    let differs = |member: &&str| source[*member] != reference[*member];
    if is_set(source) && is_set(reference) && ["apiGroup", "kind", "name"].iter().any(differs) {
        errors.invalid(at, "{}", "must match dataSourceRef");
    }
}

fn data_source(source: &Value, at: &str, errors: &mut ErrorList) {
    for member in ["name", "kind"] {
        if text(source, member).is_empty() {
            errors.required(format!("{at}.{member}"), "");
        }
    }
    match text(source, "apiGroup") {
        "" if text(source, "kind") != "PersistentVolumeClaim" => {
            let why = "must be 'PersistentVolumeClaim' when referencing the default apiGroup";
            errors.invalid(at, json!(text(source, "kind")), why);
        }
        "" => {}
        group => errors.problem(format!("{at}.apiGroup"), &source["apiGroup"], names::subdomain(group)),
    }
}

/// The names of the classes of a volume or claim, and access by one pod only.
fn classes(value: &Value, at: &str, errors: &mut ErrorList) {
    for field in ["storageClassName", "volumeAttributesClassName"] {
        let why = Some(text(value, field)).filter(|name| !name.is_empty()).and_then(names::subdomain);
        errors.problem(format!("{at}.{field}"), &value[field], why);
    }
    let modes = || items(value, "accessModes").map(|(_, mode)| mode);
    if modes().any(|mode| mode == "ReadWriteOncePod") && modes().count() > 1 {
        errors.forbidden(format!("{at}.accessModes"), "may not use ReadWriteOncePod with other access modes");
    }
}

pub(super) fn class(value: &Value, _: &str, errors: &mut ErrorList) {
    parameters(value, "", errors);
    if !matches!(text(value, "reclaimPolicy"), "" | "Delete" | "Retain") {
        errors.not_supported("reclaimPolicy", &value["reclaimPolicy"], &["Delete", "Retain"]);
    }
    // A term without expressions is taken for a repeated one.
    let mut terms = vec![Vec::new()];
    for (i, term) in items(value, "allowedTopologies") {
        let mut keys: Vec<String> =
            items(term, "matchLabelExpressions").map(|(_, rule)| topology(rule)).collect();
        keys.sort_unstable();
        if terms.contains(&keys) {
            errors.duplicate(format!("allowedTopologies[{i}].matchLabelExpressions"), "\"\"");
        }
        terms.push(keys);
    }
}

/// An expression without the order of its values.
fn topology(expression: &Value) -> String {
    let mut values: Vec<&str> = items(expression, "values").filter_map(|(_, value)| value.as_str()).collect();
    values.sort_unstable();
    format!("{}={values:?}", text(expression, "key"))
}

pub(super) fn parameters(value: &Value, _: &str, errors: &mut ErrorList) {
    if value["parameters"].get("").is_some() {
        errors.invalid("parameters", "\"\"", "field can not be empty.");
    }
}

pub(super) fn attributes_class(value: &Value, at: &str, errors: &mut ErrorList) {
    parameters(value, at, errors);
    if value["parameters"].as_object().is_none_or(serde_json::Map::is_empty) {
        errors.required("parameters", "must contain at least one key/value pair");
    }
}

pub(super) fn attachment(value: &Value, at: &str, errors: &mut ErrorList) {
    let (name, inline) = (&value["persistentVolumeName"], &value["inlineVolumeSpec"]);
    match (is_set(name), is_set(inline)) {
        (true, true) => errors.forbidden(at, "must specify one of inlineVolumeSpec and persistentVolumeName"),
        (false, false) => {
            errors.required(at, "must specify exactly one of inlineVolumeSpec and persistentVolumeName");
        }
        (true, false) if *name == "" => {
            let why = "must specify non empty persistentVolumeName";
            errors.required(format!("{at}.persistentVolumeName"), why);
        }
        (true, false) => {}
        (false, true) => {
            let place = format!("{at}.inlineVolumeSpec");
            if is_set(&inline["capacity"]) {
                let why = "may not be specified in the context of inline volumes";
                errors.forbidden(format!("{place}.capacity"), why);
            }
            if inline["csi"].is_null() {
                let why = "has to be specified in the context of inline volumes";
                errors.required(format!("{place}.csi"), why);
            }
        }
    }
}

pub(super) fn driver(value: &Value, at: &str, errors: &mut ErrorList) {
    for (i, request) in items(value, "tokenRequests") {
        let seconds = &request["expirationSeconds"];
        let why = match seconds.as_i64() {
            Some(..600) => "may not specify a duration less than 10 minutes",
            Some(seconds) if seconds > 1 << 32 => "may not specify a duration larger than 2^32 seconds",
            _ => continue,
        };
        errors.invalid(format!("{at}.tokenRequests[{i}].expirationSeconds"), seconds, why);
    }
    let period = &value["nodeAllocatableUpdatePeriodSeconds"];
    if period.as_i64().is_some_and(|seconds| seconds < 10) {
        let why = "must be greater than or equal to 10 seconds";
        errors.invalid(format!("{at}.nodeAllocatableUpdatePeriodSeconds"), period, why);
    }
}

/// A driver on a node. Errors of its topology keys name the driver.
pub(super) fn node_driver(value: &Value, at: &str, errors: &mut ErrorList) {
    if text(value, "nodeID").len() > 256 {
        errors.invalid(format!("{at}.nodeID"), &value["nodeID"], "must be 256 characters or less");
    }
    let mut keys = Vec::new();
    for (_, key) in items(value, "topologyKeys") {
        if key == "" {
            errors.required(at, "");
        }
        if keys.contains(&key) {
            errors.duplicate(at, key);
        }
        errors.problem(at, key, names::qualified_name(key.as_str().unwrap_or_default()));
        keys.push(key);
    }
}
