//! Nodes: addresses and the provider's id are set once. CSINodes: drivers are added and removed, but not changed.

use serde_json::Value;

use super::values::{IMMUTABLE, without};
use crate::schema::ErrorList;

pub(super) fn check(old: &Value, new: &Value, errors: &mut ErrorList) {
    let (before, now) = (&old["spec"], &new["spec"]);
    let addresses = ["podCIDRs", "podCIDR"];
    if addresses.iter().any(|member| !before[*member].is_null() && before[*member] != now[*member]) {
        errors.forbidden("spec.podCIDRs", "node updates may not change podCIDR except from \"\" to valid");
    }
    let (former, provider) = (&before["providerID"], &now["providerID"]);
    if !former.is_null() && former != provider {
        let why = match provider.is_null() {
            true => "field cannot be cleared once set",
            false => "field cannot be modified once set",
        };
        errors.invalid("spec.providerID", Value::Null, why);
    }
    if before["externalID"] != now["externalID"] {
        errors.forbidden("spec.externalID", "may not be updated");
    }
}

pub(super) fn drivers(old: &Value, new: &Value, errors: &mut ErrorList) {
    let before = old["spec"]["drivers"].as_array();
    for driver in new["spec"]["drivers"].as_array().into_iter().flatten() {
        let former = before.into_iter().flatten().find(|former| former["name"] == driver["name"]);
        if former.is_some_and(|former| without(former, &["allocatable"]) != without(driver, &["allocatable"]))
        {
            errors.invalid("spec.drivers", in_go(driver), IMMUTABLE);
        }
    }
}

/// A driver as Go prints it.
fn in_go(driver: &Value) -> String {
    let count = &driver["allocatable"]["count"];
    let allocatable = match driver["allocatable"].is_null() {
        true => "null".to_owned(),
        false => format!("{{\"Count\":{count}}}"),
    };
    let (name, id, keys) = (&driver["name"], &driver["nodeID"], &driver["topologyKeys"]);
    format!("{{\"Name\":{name},\"NodeID\":{id},\"TopologyKeys\":{keys},\"Allocatable\":{allocatable}}}")
}
