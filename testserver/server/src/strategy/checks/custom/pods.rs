//! Pods and their containers: fields that exclude or need each other.

use serde_json::{Value, json};

use super::{
    host, resources,
    values::{invalid, is_set, items, text},
};
use crate::{object::names, schema::FieldError};

pub(super) fn variable(value: &Value, at: &str, errors: &mut Vec<FieldError>) {
    if is_set(&value["valueFrom"]) && !text(value, "value").is_empty() {
        let why = "may not be specified when `value` is not empty";
        errors.push(FieldError::invalid(format!("{at}.valueFrom"), "\"\"", why));
    }
    if let Some(path) = value["valueFrom"]["fieldRef"].as_object().map(|field| field.get("fieldPath")) {
        let place = format!("{at}.valueFrom.fieldRef.fieldPath");
        field_path(path.and_then(Value::as_str).unwrap_or_default(), VARIABLES, place, errors);
    }
    resource_field(
        &value["valueFrom"]["resourceFieldRef"],
        &format!("{at}.valueFrom.resourceFieldRef"),
        errors,
    );
}

/// The fields of pods that variables and files can have.
const VARIABLES: &[&str] = &[
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];

pub(super) fn field_path(path: &str, known: &[&str], at: String, errors: &mut Vec<FieldError>) {
    // Labels and annotations by their keys.
    let keyed = path.strip_suffix("']").and_then(|path| path.split_once("['")).map(|(field, _)| field);
    match (path, keyed) {
        ("", _) => errors.push(FieldError::required(at, "")),
        (_, Some("metadata.labels" | "metadata.annotations")) => {}
        (path, None) if known.contains(&path) => {}
        (path, None) if is_field(path) => {
            let known: Vec<String> = known.iter().map(|path| format!("{path:?}")).collect();
            errors.push(FieldError::not_supported(at, format!("{path:?}"), &known));
        }
        (path, _) => errors.push(FieldError::invalid(at, format!("{path:?}"), "error converting fieldPath")),
    }
}

/// Whether pods have the field for selectors.
fn is_field(path: &str) -> bool {
    matches!(
        path,
        "metadata.annotations"
            | "metadata.labels"
            | "metadata.name"
            | "metadata.namespace"
            | "metadata.uid"
            | "spec.nodeName"
            | "spec.restartPolicy"
            | "spec.serviceAccountName"
            | "spec.schedulerName"
            | "spec.hostNetwork"
            | "status.phase"
            | "status.hostIP"
            | "status.hostIPs"
            | "status.podIP"
            | "status.podIPs"
            | "status.nominatedNodeName"
    )
}

pub(super) fn resource_field(value: &Value, at: &str, errors: &mut Vec<FieldError>) {
    let resource = text(value, "resource");
    let known = ["limits.", "requests."].iter().any(|list| {
        resource.strip_prefix(list).is_some_and(|name| {
            matches!(name, "cpu" | "memory" | "ephemeral-storage") || name.starts_with("hugepages-")
        })
    });
    if !value.is_null() && !resource.is_empty() && !known {
        errors.push(FieldError::not_supported(
            format!("{at}.resource"),
            format!("{resource:?}"),
            &["\"limits.cpu\"".into()],
        ));
    }
}

pub(super) fn toleration(value: &Value, at: &str, errors: &mut Vec<FieldError>) {
    let (key, operator) = (text(value, "key"), text(value, "operator"));
    if !key.is_empty()
        && let Some(why) = names::qualified_name(key)
    {
        invalid(errors, format!("{at}.key"), &value["key"], &why);
    }
    if key.is_empty() && operator != "Exists" {
        let why =
            "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
        invalid(errors, format!("{at}.operator"), &json!(operator), why);
    }
    if is_set(&value["tolerationSeconds"]) && text(value, "effect") != "NoExecute" {
        let why = "effect must be 'NoExecute' when `tolerationSeconds` is set";
        invalid(errors, format!("{at}.effect"), &value["effect"], why);
    }
    match operator {
        "" | "Equal" => {
            if let Some(why) = names::label_value(text(value, "value")) {
                invalid(errors, format!("{at}.operator"), &value["value"], &why);
            }
        }
        "Exists" if !text(value, "value").is_empty() => {
            let why = "value must be empty when `operator` is 'Exists'";
            invalid(errors, format!("{at}.operator"), &value["value"], why);
        }
        _ => {}
    }
}

/// The values that an operator of a selector needs.
pub(super) fn requirement(value: &Value, at: &str, errors: &mut Vec<FieldError>) {
    let count = value["values"].as_array().map_or(0, Vec::len);
    let place = format!("{at}.values");
    match text(value, "operator") {
        "In" | "NotIn" if count == 0 => {
            errors.push(FieldError::required(place, "must be specified when `operator` is 'In' or 'NotIn'"));
        }
        "Exists" | "DoesNotExist" if count > 0 => {
            errors.push(FieldError::forbidden(
                place,
                "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
            ));
        }
        "Gt" | "Lt" if count != 1 => {
            errors.push(FieldError::required(
                place,
                "must be specified single value when `operator` is 'Lt' or 'Gt'",
            ));
        }
        "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt" => {}
        _ => invalid(
            errors,
            format!("{at}.operator"),
            &json!(text(value, "operator")),
            "not a valid selector operator",
        ),
    }
}

pub(super) fn container(value: &Value, at: &str, errors: &mut Vec<FieldError>) {
    let image = text(value, "image");
    if image.trim() != image {
        invalid(
            errors,
            format!("{at}.image"),
            &value["image"],
            "must not have leading or trailing whitespace",
        );
    }
    resize_policies(value, at, errors);
    for (_, mount) in items(value, "volumeMounts") {
        let path = text(mount, "subPath");
        let why = match path {
            _ if path.starts_with('/') => "must be a relative path",
            _ if path.split('/').any(|part| part == "..") => "must not contain '..'",
            _ => continue,
        };
        invalid(errors, format!("{at}.volumeMounts.subPath"), &mount["subPath"], why);
    }
    for (_, source) in items(value, "envFrom") {
        if is_set(&source["configMapRef"]) == is_set(&source["secretRef"]) {
            let why = "must specify one of: `configMapRef` or `secretRef`";
            errors.push(FieldError::invalid(format!("{at}.envFrom"), "\"\"", why));
        }
    }
    for probe in ["livenessProbe", "startupProbe"] {
        if value[probe]["successThreshold"].as_i64().is_some_and(|threshold| threshold != 1) {
            invalid(
                errors,
                format!("{at}.{probe}.successThreshold"),
                &value[probe]["successThreshold"],
                "must be 1",
            );
        }
    }
    let grace = &value["readinessProbe"]["terminationGracePeriodSeconds"];
    if is_set(grace) {
        invalid(
            errors,
            format!("{at}.readinessProbe.terminationGracePeriodSeconds"),
            grace,
            "must not be set for readinessProbes",
        );
    }
    let context = &value["securityContext"];
    if context["allowPrivilegeEscalation"] == false && context["privileged"] == true {
        let why = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true";
        errors.push(FieldError::invalid(format!("{at}.securityContext"), context, why));
    }
}

fn resize_policies(container: &Value, at: &str, errors: &mut Vec<FieldError>) {
    let place = format!("{at}.resizePolicy");
    let known = |words: [&str; 2]| words.map(|word| format!("{word:?}"));
    for (_, policy) in items(container, "resizePolicy") {
        match text(policy, "resourceName") {
            "" => errors.push(FieldError::required(place.clone(), "")),
            "cpu" | "memory" => {}
            other => errors.push(FieldError::not_supported(
                place.clone(),
                format!("{other:?}"),
                &known(["cpu", "memory"]),
            )),
        }
        match text(policy, "restartPolicy") {
            "" => errors.push(FieldError::required(place.clone(), "")),
            "NotRequired" | "RestartContainer" => {}
            other => errors.push(FieldError::not_supported(
                place.clone(),
                format!("{other:?}"),
                &known(["NotRequired", "RestartContainer"]),
            )),
        }
    }
}

/// The labels and annotations of a template, at the path that genuine servers name.
pub(super) fn template(value: &Value, at: &str, errors: &mut Vec<FieldError>) {
    let metadata = &value["metadata"];
    for (key, value) in metadata["labels"].as_object().into_iter().flatten() {
        let wrong =
            names::qualified_name(key).or_else(|| names::label_value(value.as_str().unwrap_or_default()));
        if let Some(why) = wrong {
            invalid(errors, format!("{at}.labels"), &json!(key), &why);
        }
    }
    for key in metadata["annotations"].as_object().into_iter().flatten().map(|(key, _)| key) {
        if let Some(why) = names::qualified_name(&key.to_lowercase()) {
            invalid(errors, format!("{at}.annotations"), &json!(key), &why);
        }
    }
}

pub(super) fn affinity(value: &Value, at: &str, errors: &mut Vec<FieldError>) {
    for (_, namespace) in items(value, "namespaces") {
        if let Some(why) = names::dns_label(namespace.as_str().unwrap_or_default()) {
            invalid(errors, format!("{at}.namespace"), namespace, &why);
        }
    }
}

pub(super) fn pod(value: &Value, at: &str, errors: &mut Vec<FieldError>) {
    resources::overhead(value, at, errors);
    host::namespaces(value, at, errors);
    if is_set(&value["resources"]["claims"]) {
        let why = "claims may not be set for Resources at pod-level";
        errors.push(FieldError::forbidden(format!("{at}.resources.claims"), why));
    }
    for (i, container) in
        items(value, "initContainers").filter(|(_, container)| text(container, "restartPolicy") != "Always")
    {
        for member in ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"] {
            if is_set(&container[member]) {
                let why = "may not be set for init containers without restartPolicy=Always";
                errors.push(FieldError::forbidden(format!("{at}.initContainers[{i}].{member}"), why));
            }
        }
    }
    if value["hostNetwork"] != true
        && value["dnsPolicy"] == "None"
        && value["dnsConfig"]["nameservers"].as_array().is_none_or(Vec::is_empty)
    {
        let place = if value["dnsConfig"].is_null() { "dnsConfig" } else { "dnsConfig.nameservers" };
        let why = "must provide at least one DNS nameserver when `dnsPolicy` is None";
        errors.push(FieldError::required(format!("{at}.{place}"), why));
    }
    if value["shareProcessNamespace"] == true && value["hostPID"] == true {
        let why = "ShareProcessNamespace and HostPID cannot both be enabled";
        errors.push(FieldError::invalid(format!("{at}.shareProcessNamespace"), true, why));
    }
    if value["os"]["name"]
        .as_str()
        .is_some_and(|name| !name.is_empty() && !matches!(name, "linux" | "windows"))
    {
        let known = ["\"linux\"".into(), "\"windows\"".into()];
        errors.push(FieldError::not_supported(format!("{at}.os"), &value["os"]["name"], &known));
    }
    if value["os"]["name"] == "linux" {
        let lists = ["containers", "initContainers"]
            .iter()
            .flat_map(|list| items(value, list).map(move |(i, item)| (format!("{at}.{list}[{i}]"), item)));
        for (place, item) in lists.chain([(at.to_owned(), value)]) {
            if is_set(&item["securityContext"]["windowsOptions"]) {
                let why = "windows options cannot be set for a linux pod";
                errors.push(FieldError::forbidden(format!("{place}.securityContext.windowsOptions"), why));
            }
        }
    }
    for (i, gate) in items(value, "schedulingGates") {
        if let Some(why) = names::qualified_name(text(gate, "name")) {
            invalid(errors, format!("{at}.schedulingGates[{i}]"), &json!(text(gate, "name")), &why);
        }
    }
    for (i, gate) in items(value, "readinessGates") {
        if let Some(why) = names::qualified_name(text(gate, "conditionType")) {
            invalid(
                errors,
                format!("{at}.readinessGates[{i}].conditionType"),
                &json!(text(gate, "conditionType")),
                &why,
            );
        }
    }
    for (i, option) in items(&value["dnsConfig"], "options") {
        if text(option, "name").is_empty() {
            errors.push(FieldError::required(format!("{at}.dnsConfig.options[{i}]"), "must not be empty"));
        }
    }
}
