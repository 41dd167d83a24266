//! Nodes, their runtimes, and servers of other APIs.

use serde_json::{Value, json};

use super::{
    network, resources,
    values::{is_set, items, text},
};
use crate::{object::names, schema::ErrorList};

pub(super) fn node(value: &Value, at: &str, errors: &mut ErrorList) {
    if network::repeats_family(items(value, "podCIDRs").map(|(_, range)| range)) {
        let why = "may specify no more than one CIDR for each IP family";
        errors.invalid(format!("{at}.podCIDRs"), &value["podCIDRs"], why);
    }
    let mut effects = Vec::new();
    for (i, taint) in items(value, "taints") {
        let at = format!("metadata.taints[{i}]");
        let (key, effect) = (text(taint, "key"), text(taint, "effect"));
        errors.problem(format!("{at}.key"), json!(key), names::qualified_name(key));
        errors.problem(format!("{at}.value"), &taint["value"], names::label_value(text(taint, "value")));
        match effect {
            "" => errors.required(format!("{at}.effect"), ""),
            "NoSchedule" | "PreferNoSchedule" | "NoExecute" => {}
            _ => {
                let supported = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
                errors.not_supported(format!("{at}.effect"), format!("{effect:?}"), &supported);
            }
        }
        if effects.contains(&(key, effect)) {
            // Go prints the struct.
            let added =
                if taint["timeAdded"].is_null() { "null".to_owned() } else { taint["timeAdded"].to_string() };
            let printed = format!(
                "{{\"Key\":{key:?},\"Value\":{:?},\"Effect\":{effect:?},\"TimeAdded\":{added}}}: taints must be unique by key and effect pair",
                text(taint, "value")
            );
            errors.duplicate(at, printed);
        }
        effects.push((key, effect));
    }
}

/// What a runtime needs besides the containers.
pub(super) fn overhead(value: &Value, at: &str, errors: &mut ErrorList) {
    resources::resources(&json!({"limits": value["podFixed"]}), at, errors);
}

/// A server of another API is named by the version that it serves.
pub(super) fn api_service(value: &Value, _: &str, errors: &mut ErrorList) {
    let spec = &value["spec"];
    let (group, version) = (text(spec, "group"), text(spec, "version"));
    let name = format!("{version}.{group}");
    if value["metadata"]["name"] != name {
        let why = format!("must be `spec.version+\".\"+spec.group`: {name:?}");
        errors.invalid("metadata.name".to_owned(), &value["metadata"]["name"], &why);
    }
    if group.is_empty() && version != "v1" {
        errors.required("spec.group", "only v1 may have an empty group and it better be legacy kube");
    }
    for (member, max) in [("groupPriorityMinimum", 20_000), ("versionPriority", 1000)] {
        let priority = spec[member].as_i64().unwrap_or(0);
        if !(1..=max).contains(&priority) {
            let why = format!("must be positive and less than {max}");
            errors.invalid(format!("spec.{member}"), json!(priority), &why);
        }
    }
    let (insecure, bundle) = (&spec["insecureSkipTLSVerify"], text(spec, "caBundle"));
    if spec["service"].is_null() {
        if !bundle.is_empty() {
            let length =
                base64::Engine::decode(&base64::prelude::BASE64_STANDARD, bundle).map_or(0, |b| b.len());
            let printed = format!("\"{length} bytes\"");
            errors.invalid("spec.caBundle", printed, "local APIServices may not have a caBundle");
        }
        if *insecure == true {
            let why = "local APIServices may not have insecureSkipTLSVerify";
            errors.invalid("spec.insecureSkipTLSVerify".to_owned(), insecure, why);
        }
    } else if *insecure == true && is_set(&spec["caBundle"]) {
        let why = "may not be true if caBundle is present";
        errors.invalid("spec.insecureSkipTLSVerify".to_owned(), insecure, why);
    }
}
