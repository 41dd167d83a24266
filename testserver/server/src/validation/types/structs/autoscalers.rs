//! Autoscalers: targets and metrics.

use serde_json::{Value, json};

use super::{
    resources,
    values::{is_set, items, text},
};
use crate::{object::quantity::Quantity, schema::ErrorList};

pub(super) fn autoscaler(value: &Value, at: &str, errors: &mut ErrorList) {
    let (min, max) = (value["minReplicas"].as_i64().unwrap_or(1), value["maxReplicas"].as_i64().unwrap_or(0));
    if max == 0 {
        errors.required(format!("{at}.maxReplicas"), "");
    }
    if max < min {
        errors.invalid(
            format!("{at}.maxReplicas"),
            json!(max),
            "must be greater than or equal to `minReplicas`",
        );
    }
    let target = &value["scaleTargetRef"];
    for member in ["kind", "name"] {
        if text(target, member).is_empty() {
            errors.required(format!("{at}.scaleTargetRef.{member}"), "");
        }
    }
    if text(target, "apiVersion").matches('/').count() > 1 {
        let version = &target["apiVersion"];
        let why = format!("unexpected GroupVersion string: {}", text(target, "apiVersion"));
        errors.invalid(format!("{at}.scaleTargetRef.apiVersion"), version, &why);
    }
    // Only ReplicationControllers are of the core group.
    if !text(target, "apiVersion").contains('/') && text(target, "kind") != "ReplicationController" {
        let why = "apiVersion must specify API group";
        errors.invalid(format!("{at}.scaleTargetRef.apiVersion"), json!(text(target, "apiVersion")), why);
    }
    let utilization = &value["targetCPUUtilizationPercentage"];
    if utilization.as_i64().is_some_and(|percent| percent < 1) {
        errors.invalid(
            format!("{at}.metrics[0].resource.target.averageUtilization"),
            utilization,
            "must be greater than 0",
        );
    }
    if min == 0
        && !items(value, "metrics").any(|(_, metric)| matches!(text(metric, "type"), "Object" | "External"))
    {
        let why = "must specify at least one Object or External metric to support scaling to zero replicas";
        errors.forbidden(format!("{at}.metrics"), why);
    }
}

/// A metric has the source of its type, and no other.
pub(super) fn metric(value: &Value, at: &str, errors: &mut ErrorList) {
    const SOURCES: [(&str, &str); 5] = [
        ("Object", "object"),
        ("External", "external"),
        ("Pods", "pods"),
        ("Resource", "resource"),
        ("ContainerResource", "containerResource"),
    ];
    let kind = text(value, "type");
    let given = || SOURCES.iter().filter(|(_, member)| is_set(&value[*member]));
    let several = given().count() > 1;
    for (of, member) in SOURCES {
        let place = format!("{at}.{member}");
        if of == kind && value[member].is_null() {
            errors.required(place, "must populate information for the given metric source");
        } else if of != kind && is_set(&value[member]) && several {
            errors.forbidden(place, "must populate the given metric source only");
        }
    }
    // Only the first source is looked at.
    if let Some((of, member)) = given().next() {
        let (source, place) = (&value[*member], format!("{at}.{member}"));
        if *of == "ContainerResource" && !text(source, "name").is_empty() {
            resources::name(text(source, "name"), format!("{place}.name"), errors);
        }
        target(of, &source["target"], &format!("{place}.target"), errors);
    }
}

fn target(kind: &str, value: &Value, at: &str, errors: &mut ErrorList) {
    let positive = |amount: &Value| {
        Quantity::read(amount).is_none_or(|amount| !amount.is_negative() && !amount.is_zero())
    };
    match text(value, "type") {
        "Utilization" | "Value" | "AverageValue" => {}
        other => {
            if other.is_empty() {
                errors.required(format!("{at}.type"), "must specify a metric target type");
            }
            let why = "must be either Utilization, Value, or AverageValue";
            errors.invalid(format!("{at}.type"), json!(other), why);
        }
    }
    for member in ["value", "averageValue"] {
        if is_set(&value[member]) && !positive(&value[member]) {
            errors.invalid(format!("{at}.{member}"), &value[member], "must be positive");
        }
    }
    let (utilization, average) = (&value["averageUtilization"], &value["averageValue"]);
    if utilization.as_i64().is_some_and(|percent| percent < 1) {
        errors.invalid(format!("{at}.averageUtilization"), utilization, "must be greater than 0");
    }
    let both = |other: &Value| (is_set(other), is_set(average));
    let mut required = |member: &str, why: &str| errors.required(format!("{at}.{member}"), why);
    match kind {
        "Resource" | "ContainerResource" => match both(utilization) {
            (false, false) => {
                required("averageUtilization", "must set either a target raw value or a target utilization");
            }
            (true, true) => errors.forbidden(
                format!("{at}.averageValue"),
                "may not set both a target raw value and a target utilization",
            ),
            _ => {}
        },
        "Pods" if average.is_null() => {
            required("averageValue", "must specify a positive target averageValue")
        }
        "Object" if both(&value["value"]) == (false, false) => {
            required("averageValue", "must set either a target value or averageValue");
        }
        "External" => match both(&value["value"]) {
            (false, false) => {
                required("averageValue", "must set either a target value for metric or a per-pod target");
            }
            (true, true) => errors.forbidden(
                format!("{at}.value"),
                "may not set both a target value for metric and a per-pod target",
            ),
            _ => {}
        },
        _ => {}
    }
}
