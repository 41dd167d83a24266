//! Amounts of resources: names, signs, requests and limits.

use serde_json::{Value, json};

use super::values::{amounts, is_set, items, text};
use crate::{
    object::{names, quantity::Quantity},
    schema::ErrorList,
};

/// Names and amounts of the resources of containers; requests are at most the limits.
pub(super) fn resources(value: &Value, at: &str, errors: &mut ErrorList) {
    for list in ["limits", "requests"] {
        for (name, amount) in amounts(value, list) {
            let place = format!("{at}.{list}[{name}]");
            self::name(name, place.clone(), errors);
            if amount.is_negative() {
                errors.invalid(place, &value[list][name], "must be greater than or equal to 0");
            } else if !amount.is_whole() && !matches!(name.as_str(), "cpu" | "memory" | "ephemeral-storage") {
                errors.invalid(place, &value[list][name], "must be an integer");
            }
        }
    }
    for (name, request) in amounts(value, "requests") {
        let limit = Quantity::read(&value["limits"][name]);
        if limit.is_some_and(|limit| request > limit) {
            let why =
                format!("must be less than or equal to {name} limit of {}", text(&value["limits"], name));
            errors.invalid(format!("{at}.requests"), &value["requests"][name], &why);
        }
    }
    not_overcommitted(value, at, errors);
}

/// A resource of containers, or one with a domain.
pub(super) fn name(name: &str, at: String, errors: &mut ErrorList) {
    if let Some(why) = names::qualified_name(name) {
        errors.invalid(at, json!(name), &why);
    } else if !name.contains('/') && !names::is_container_resource(name) {
        if !names::is_native_resource(name) {
            errors.invalid(at.clone(), json!(name), "must be a standard resource type or fully qualified");
        }
        errors.invalid(at, json!(name), "must be a standard resource for containers");
    }
}

/// Huge pages and extended resources are for one container.
fn not_overcommitted(value: &Value, at: &str, errors: &mut ErrorList) {
    let exclusive = |name: &str| {
        name.starts_with("hugepages-") || name.contains('/') && !name.starts_with("kubernetes.io/")
    };
    for (name, request) in amounts(value, "requests").filter(|(name, _)| exclusive(name)) {
        match Quantity::read(&value["limits"][name]) {
            None => {
                errors.required(format!("{at}.limits"), "Limit must be set for non overcommitable resources");
            }
            Some(limit) if request < limit => {
                let why = format!("must be equal to {name} limit of {}", text(&value["limits"], name));
                errors.invalid(format!("{at}.requests"), &value["requests"][name], &why);
            }
            Some(_) => {}
        }
    }
    let has = |fits: fn(&str) -> bool| {
        ["limits", "requests"].iter().any(|list| amounts(value, list).any(|(name, _)| fits(name)))
    };
    if has(|name| name.starts_with("hugepages-")) && !has(|name| matches!(name, "cpu" | "memory")) {
        errors.forbidden(at, "HugePages require cpu or memory");
    }
}

/// Containers name claims of their pod, each once; the pod's own resources have none.
pub(super) fn claims(pod: &Value, at: &str, errors: &mut ErrorList) {
    if is_set(&pod["resources"]["claims"]) {
        let why = "claims may not be set for Resources at pod-level";
        errors.forbidden(format!("{at}.resources.claims"), why);
        claims_of(pod, pod, at, errors);
    }
    of_pod(pod, at, errors);
    for list in ["containers", "initContainers"] {
        for (i, container) in
            items(pod, list).filter(|(_, container)| is_set(&container["resources"]["claims"]))
        {
            claims_of(container, pod, &format!("{at}.{list}[{i}]"), errors);
        }
    }
}

/// A pod as a whole has processors and memory, and its containers share them.
fn of_pod(pod: &Value, at: &str, errors: &mut ErrorList) {
    if pod["resources"].is_null() {
        return;
    }
    for list in ["limits", "requests"] {
        for (name, _) in amounts(&pod["resources"], list)
            .filter(|(name, _)| !is_shared(name) && (name.contains('/') || names::is_native_resource(name)))
        {
            let supported = ["cpu", "hugepages-", "memory"];
            errors.not_supported(format!("{at}.resources.{list}[{name}]"), format!("{name:?}"), &supported);
        }
    }
    for (name, limit) in amounts(&pod["resources"], "limits") {
        for (i, container) in items(pod, "containers") {
            let own = &container["resources"]["limits"][name];
            if Quantity::read(own).is_some_and(|own| own > limit) {
                let why = format!("must be less than or equal to pod limits of {limit}");
                errors.invalid(format!("{at}.resources.containers[{i}][{name}].limits"), own, &why);
            }
        }
    }
}

fn is_shared(name: &str) -> bool {
    matches!(name, "cpu" | "memory") || name.starts_with("hugepages-")
}

fn claims_of(owner: &Value, pod: &Value, at: &str, errors: &mut ErrorList) {
    let claims: Vec<&str> = items(pod, "resourceClaims").map(|(_, claim)| text(claim, "name")).collect();
    let mut before: Vec<(&str, &str)> = Vec::new();
    for (i, claim) in items(&owner["resources"], "claims") {
        let (place, name, request) =
            (format!("{at}.resources.claims[{i}]"), text(claim, "name"), text(claim, "request"));
        if name.is_empty() {
            errors.required(place, "");
            continue;
        }
        // A claim as a whole has all its requests.
        if before.iter().any(|(other, part)| {
            *other == name && (*part == request || part.is_empty() || request.is_empty())
        }) {
            errors.duplicate(place.clone(), format!("{name:?}"));
        }
        before.push((name, request));
        if !claims.contains(&name) {
            let listed = match claims.is_empty() {
                true => " which is empty".to_owned(),
                false => format!(": {}", claims.join(", ")),
            };
            let why = "must be one of the names in pod.spec.resourceClaims";
            errors.not_found(place, format_args!("{name:?}: {why}{listed}"));
        }
    }
}

/// What a pod needs besides its containers.
pub(super) fn overhead(value: &Value, at: &str, errors: &mut ErrorList) {
    if is_set(&value["overhead"]) {
        resources(&json!({"limits": value["overhead"]}), &format!("{at}.overhead"), errors);
    }
}

pub(super) fn volume_resources(value: &Value, at: &str, errors: &mut ErrorList) {
    match Quantity::read(&value["requests"]["storage"]) {
        None => errors.required(format!("{at}[storage]"), ""),
        Some(amount) if amount.is_negative() || amount.is_zero() => {
            errors.invalid(
                format!("{at}[storage]"),
                &value["requests"]["storage"],
                "must be greater than zero",
            );
        }
        Some(_) => {}
    }
}

pub(super) fn capacity(value: &Value, at: &str, errors: &mut ErrorList) {
    let capacity = value["capacity"].as_object();
    let alone = capacity.is_some_and(|capacity| capacity.len() == 1 && capacity.contains_key("storage"));
    if !alone {
        errors.not_supported(format!("{at}.capacity"), &value["capacity"], &["storage"]);
    }
    for (name, amount) in amounts(value, "capacity") {
        if amount.is_negative() || amount.is_zero() {
            errors.invalid(
                format!("{at}.capacity[{name}]"),
                &value["capacity"][name],
                "must be greater than zero",
            );
        }
    }
}

pub(super) fn empty_dir(value: &Value, at: &str, errors: &mut ErrorList) {
    if Quantity::read(&value["sizeLimit"]).is_some_and(Quantity::is_negative) {
        errors.forbidden(format!("{at}.sizeLimit"), "SizeLimit field must be a valid resource quantity");
    }
}
