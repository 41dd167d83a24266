//! ResourceSlices: on which nodes devices are, and what they have.

use serde_json::Value;

use super::{
    devices,
    values::{is_set, items, text},
};
use crate::schema::ErrorList;

const OF_SLICE: [&str; 4] = ["nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection"];
const OF_DEVICE: [&str; 3] = ["nodeName", "nodeSelector", "allNodes"];

pub(super) fn slice(value: &Value, at: &str, errors: &mut ErrorList) {
    if value["nodeName"] == "" {
        let why = "must be either unset or set to a non-empty string";
        errors.invalid(format!("{at}.nodeName"), &value["nodeName"], why);
    }
    for member in ["allNodes", "perDeviceNodeSelection"] {
        if value[member] == false {
            errors.invalid(format!("{at}.{member}"), &value[member], "must be either unset or set to true");
        }
    }
    if is_set(&value["nodeSelector"]) && items(&value["nodeSelector"], "nodeSelectorTerms").count() != 1 {
        let (place, terms) =
            (format!("{at}.nodeSelector.nodeSelectorTerms"), &value["nodeSelector"]["nodeSelectorTerms"]);
        errors.invalid(place, terms, "must have exactly one node selector term");
    }
    let why = format!("exactly one of {} is required", listed(&OF_SLICE));
    one_of(value, &OF_SLICE, &why, at, errors);
    if items(value, "sharedCounters").next().is_some() && items(value, "devices").next().is_some() {
        errors.invalid(at, "\"\"", "only one of `sharedCounters` or `devices` is allowed");
    }
    for (i, device) in items(value, "devices") {
        let at = format!("{at}.devices[{i}]");
        if value["perDeviceNodeSelection"] == true {
            placed(device, &at, errors);
        } else if OF_DEVICE.iter().any(|member| is_set(&device[*member])) {
            let why = "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in the \
                ResourceSlice spec";
            errors.invalid(at, "null", why);
        }
    }
}

/// A device that has a place of its own.
fn placed(device: &Value, at: &str, errors: &mut ErrorList) {
    if device["nodeName"] == "" {
        errors.invalid(format!("{at}.nodeName"), &device["nodeName"], "must not be empty");
    }
    if device["allNodes"] == false {
        errors.invalid(format!("{at}.allNodes"), &device["allNodes"], "must be either unset or set to true");
    }
    let why = "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true in \
        the ResourceSlice spec";
    one_of(device, &OF_DEVICE, why, at, errors);
}

/// `false` counts as set here, in which case another error tells that it must not be.
fn one_of(value: &Value, members: &[&str], why: &str, at: &str, errors: &mut ErrorList) {
    let counts = |member: &&str| is_set(&value[*member]) && value[*member] != "" && value[*member] != false;
    let given: Vec<&str> = members.iter().copied().filter(counts).collect();
    match given.as_slice() {
        [] => errors.required(at, why),
        [_] => {}
        _ => {
            let printed = format!("\"{{{}}}\"", listed(&given));
            errors.invalid(at, printed, &format!("{why}, but multiple fields are set"));
        }
    }
}

fn listed(members: &[&str]) -> String {
    members.iter().map(|member| format!("`{member}`")).collect::<Vec<_>>().join(", ")
}

pub(super) fn device(value: &Value, at: &str, errors: &mut ErrorList) {
    for member in ["attributes", "capacity"] {
        devices::keys(&value[member], &format!("{at}.{member}"), errors);
    }
    const BOTH: [&str; 2] = ["bindingConditions", "bindingFailureConditions"];
    let set = |list: &str| items(value, list).next().is_some();
    for (list, other) in [(BOTH[0], BOTH[1]), (BOTH[1], BOTH[0])] {
        if set(list) && !set(other) {
            let why = format!("{other} are required to use {list}");
            errors.invalid(format!("{at}.{other}"), "null", &why);
        }
    }
    for (i, condition) in items(value, BOTH[1]) {
        if items(value, BOTH[0]).any(|(_, other)| other == condition) {
            let why = "bindingFailureConditions must not overlap with bindingConditions";
            errors.invalid(format!("{at}.{}[{i}]", BOTH[1]), condition, why);
        }
    }
    if value["allowMultipleAllocations"] != true {
        for (key, _) in value["capacity"]
            .as_object()
            .into_iter()
            .flatten()
            .filter(|(_, capacity)| is_set(&capacity["requestPolicy"]))
        {
            let place = format!("{at}.capacity[{key}].requestPolicy");
            errors.forbidden(place, "allowMultipleAllocations must be true");
        }
    }
}

/// An attribute of a device.
pub(super) fn attribute(value: &Value, at: &str, errors: &mut ErrorList) {
    for member in ["string", "version"] {
        if text(value, member).len() > 64 {
            errors.too_long(format!("{at}.{member}"), 64);
        }
    }
    let version = value["version"].as_str().filter(|version| version.len() <= 64);
    if version.is_some_and(|version| !is_semantic(version)) {
        let why = "must be a string compatible with semver.org spec 2.0.0";
        errors.invalid(format!("{at}.version"), &value["version"], why);
    }
}

/// Whether the text is three numbers with an optional release and build.
fn is_semantic(version: &str) -> bool {
    let number = |text: &str| {
        !text.is_empty()
            && text.bytes().all(|b| b.is_ascii_digit())
            && (text == "0" || !text.starts_with('0'))
    };
    let identifier =
        |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    let (version, build) =
        version.split_once('+').map_or((version, None), |(rest, build)| (rest, Some(build)));
    let (core, release) = version.split_once('-').map_or((version, None), |(core, rest)| (core, Some(rest)));
    let released =
        |part: &str| identifier(part) && (number(part) || part.bytes().any(|b| !b.is_ascii_digit()));
    core.split('.').count() == 3
        && core.split('.').all(number)
        && release.is_none_or(|release| release.split('.').all(released))
        && build.is_none_or(|build| build.split('.').all(identifier))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_have_three_numbers() {
        for version in ["1.2.3", "0.0.0", "1.2.3-rc.1+b.007", "1.2.3-x-y"] {
            assert!(is_semantic(version), "{version}");
        }
        for version in ["1.2", "1.2.3.4", "01.2.3", "1.2.3-", "1.2.3-01", "1.2.3+", "v1.2.3", ""] {
            assert!(!is_semantic(version), "{version}");
        }
    }
}
