//! Claims of devices: requests, constraints and configuration.

use serde_json::Value;

use super::{
    super::formats,
    values::{is_set, items, text},
};
use crate::{
    object::names,
    schema::{ErrorList, PolicyExpression, Returns},
};

/// Constraints and configuration are for requests of the claim.
pub(super) fn claim(value: &Value, at: &str, errors: &mut ErrorList) {
    let mut requests = Vec::new();
    for (_, request) in items(value, "requests") {
        let name = text(request, "name");
        requests.push(name.to_owned());
        requests
            .extend(items(request, "firstAvailable").map(|(_, sub)| format!("{name}/{}", text(sub, "name"))));
    }
    for list in ["constraints", "config"] {
        for (i, holder) in items(value, list) {
            for (j, request) in items(holder, "requests") {
                let (place, name) =
                    (format!("{at}.{list}[{i}].requests[{j}]"), request.as_str().unwrap_or_default());
                for why in name.splitn(2, '/').filter_map(names::dns_label) {
                    errors.invalid(place.clone(), request, &why);
                }
                if !requests.iter().any(|request| request == name) {
                    let why = "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'";
                    errors.invalid(place, request, why);
                }
            }
        }
    }
}

pub(super) fn request(value: &Value, at: &str, errors: &mut ErrorList) {
    let why = "exactly one of `exactly` or `firstAvailable` is required";
    match (is_set(&value["exactly"]), items(value, "firstAvailable").next().is_some()) {
        (true, true) => {
            let why = format!("{why}, but multiple fields are set");
            errors.invalid(at, "null", &why);
        }
        (false, false) => errors.required(at, why),
        (false, true) => {
            for (i, part) in items(value, "firstAvailable") {
                if let Some(why) = names::dns_label(text(part, "name")) {
                    let place = format!("{at}.firstAvailable[{i}].name");
                    errors.invalid(place, Value::from(text(part, "name")), &why);
                }
            }
        }
        (true, false) => {}
    }
}

/// All devices have no count.
pub(super) fn amount(value: &Value, at: &str, errors: &mut ErrorList) {
    if text(value, "allocationMode") == "All" && value["count"].as_i64().unwrap_or(0) != 0 {
        let why = "must not be specified when allocationMode is 'All'";
        errors.invalid(format!("{at}.count"), &value["count"], why);
    }
}

pub(super) fn constraint(value: &Value, at: &str, errors: &mut ErrorList) {
    const LIST: [&str; 2] = ["matchAttribute", "distinctAttribute"];
    if !LIST.iter().any(|member| is_set(&value[*member])) {
        // As the genuine server words it.
        let why = "exactly one of \"matchAttribute\" or \"distinctAttribute\" is required, but multiple fields are set";
        errors.required(at, why);
    }
    for member in LIST {
        too_long(text(value, member), &format!("{at}.{member}"), errors);
    }
}

/// Refuses names of attributes and capacities with parts that are too long.
fn too_long(name: &str, at: &str, errors: &mut ErrorList) -> bool {
    let (domain, own) = name.split_once('/').unwrap_or(("", name));
    let before = errors.len();
    for (part, max) in [(domain, 63), (own, 32)] {
        if part.len() > max {
            errors.too_long(at, max);
        }
    }
    errors.len() > before
}

/// Refuses keys that are neither an identifier nor one with a domain.
pub(super) fn keys(value: &Value, at: &str, errors: &mut ErrorList) {
    for (key, _) in value.as_object().into_iter().flatten() {
        if too_long(key, at, errors) {
            continue;
        }
        let mut refuse = |part: &str, why: &str| errors.invalid(at, format!("{part:?}"), why);
        let own = match key.split_once('/') {
            Some(("", own)) => {
                refuse("", "the domain must not be empty");
                own
            }
            Some((domain, own)) => {
                if let Some(why) = names::subdomain(domain) {
                    refuse(domain, &why);
                }
                own
            }
            None => key,
        };
        match own {
            "" => refuse("", "the name must not be empty"),
            own => {
                if let Some(why) = formats::c_identifier(own) {
                    refuse(own, &why);
                }
            }
        }
    }
}

pub(super) fn toleration(value: &Value, at: &str, errors: &mut ErrorList) {
    if text(value, "operator") == "Exists" && !text(value, "value").is_empty() {
        errors.invalid(format!("{at}.value"), &value["value"], "must be empty for operator `Exists`");
    }
}

pub(super) fn opaque(value: &Value, at: &str, errors: &mut ErrorList) {
    let place = format!("{at}.parameters");
    match &value["parameters"] {
        Value::Null => errors.required(place, ""),
        Value::Object(_) => {}
        _ => errors.invalid(place, "\"<value omitted>\"", "must be a valid JSON object"),
    }
}

pub(super) fn expression(value: &Value, at: &str, errors: &mut ErrorList) {
    if let Err(why) = PolicyExpression::Plain.check(text(value, "expression"), &["device"], Returns::Bool) {
        let printed = format!("{:?}", text(value, "expression"));
        errors.invalid(format!("{at}.expression"), printed, &why);
    }
}
