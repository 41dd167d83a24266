//! PriorityClasses: names and values of the system's own classes are reserved.

use serde_json::Value;

use super::Errors;
use crate::{object::meta, schema::FieldError};

/// Larger values belong to the classes of the system.
pub(crate) const HIGHEST_USER_PRIORITY: i64 = 1_000_000_000;
/// The classes that every cluster has: name, value and description.
pub(crate) const SYSTEM_CLASSES: [(&str, i64, &str); 2] = [
    (
        "system-node-critical",
        2 * HIGHEST_USER_PRIORITY + 1000,
        "Used for system critical pods that must not be moved from their current node.",
    ),
    (
        "system-cluster-critical",
        2 * HIGHEST_USER_PRIORITY,
        "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
    ),
];

const POLICIES: [&str; 2] = ["PreemptLowerPriority", "Never"];

pub(super) fn validate(class: &Value, errors: &mut Errors) {
    let (name, value) = (meta::name(class), class["value"].as_i64().unwrap_or(0));
    if name.starts_with("system-") {
        if let Some(why) = not_of_system(name, value, class["globalDefault"] == true) {
            let why = format!(
                "priority class names with 'system-' prefix are reserved for system use only. error: {why}"
            );
            errors.add(FieldError::forbidden("metadata.name", &why));
        }
    } else if value > HIGHEST_USER_PRIORITY {
        let why = format!("maximum allowed value of a user defined priority is {HIGHEST_USER_PRIORITY}");
        errors.add(FieldError::forbidden("value", &why));
    }
    let policy = class["preemptionPolicy"].as_str().filter(|policy| !POLICIES.contains(policy));
    if policy == Some("") {
        errors.required("preemptionPolicy".into(), "");
    } else if let Some(policy) = policy {
        let supported = POLICIES.map(|policy| format!("{policy:?}"));
        errors.add(FieldError::not_supported("preemptionPolicy", format!("{policy:?}"), &supported));
    }
}

/// Why a class is not one of the system's.
fn not_of_system(name: &str, value: i64, default: bool) -> Option<String> {
    let Some((_, known, _)) = SYSTEM_CLASSES.iter().find(|(known, ..)| *known == name) else {
        return Some(format!("{name} is not a known system priority class"));
    };
    match () {
        () if *known != value => Some(format!("value of {name} PriorityClass must be {known}")),
        () if default => Some(format!("globalDefault of {name} PriorityClass must be false")),
        () => None,
    }
}
