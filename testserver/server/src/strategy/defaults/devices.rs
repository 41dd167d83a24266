//! Requests for devices ask for one.

use serde_json::Value;

use super::members::{each, fill, items};

pub(super) fn counts(devices: &mut Value) {
    for request in items(devices, "requests") {
        each(request, "/exactly", count);
        items(request, "firstAvailable").for_each(count);
    }
}

fn count(request: &mut Value) {
    fill(request, "allocationMode", "ExactCount");
    if request["allocationMode"] == "ExactCount" && request["count"].as_i64().unwrap_or(0) == 0 {
        request["count"] = 1.into();
    }
    for toleration in items(request, "tolerations") {
        fill(toleration, "operator", "Equal");
    }
}
