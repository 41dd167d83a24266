//! Nodes: addresses and the provider's id are set once. CSINodes: drivers are added and removed, but not changed.

use serde_json::Value;

use super::values::{IMMUTABLE, shown, without};
use crate::schema::FieldError;

const FREE: &[&str] = &["unschedulable", "taints"];

pub(super) fn check(old: &Value, new: &Value, errors: &mut Vec<FieldError>) {
    let (before, now) = (&old["spec"], &new["spec"]);
    let mut free = FREE.to_vec();
    for (field, members, what) in [
        ("spec.podCIDRs", &["podCIDRs", "podCIDR"][..], "podCIDR"),
        ("spec.providerID", &["providerID"], "providerID"),
    ] {
        if members.iter().all(|member| before[*member].is_null()) {
            free.extend(members);
        } else if members.iter().any(|member| before[*member] != now[*member]) {
            let why = format!("node updates may not change {what} except from \"\" to valid");
            errors.push(FieldError::forbidden(field, &why));
        }
    }
    if without(before, &free) != without(now, &free) {
        errors.push(FieldError::forbidden("[]", "node updates may only change labels, taints, or capacity"));
    }
}

pub(super) fn drivers(old: &Value, new: &Value, errors: &mut Vec<FieldError>) {
    let before = old["spec"]["drivers"].as_array();
    for driver in new["spec"]["drivers"].as_array().into_iter().flatten() {
        let known = before.into_iter().flatten().find(|known| known["name"] == driver["name"]);
        if known.is_some_and(|known| without(known, &["allocatable"]) != without(driver, &["allocatable"])) {
            errors.push(FieldError::invalid("CSINodeDriver", shown(driver), IMMUTABLE));
        }
    }
}
