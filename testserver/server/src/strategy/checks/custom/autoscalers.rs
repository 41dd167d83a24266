//! Autoscalers: targets and metrics.

use serde_json::{Value, json};

use super::values::{invalid, is_set, items, text};
use crate::{object::quantity::Quantity, schema::FieldError};

pub(super) fn autoscaler(value: &Value, at: &str, errors: &mut Vec<FieldError>) {
    let (min, max) = (value["minReplicas"].as_i64().unwrap_or(1), value["maxReplicas"].as_i64().unwrap_or(0));
    if max == 0 {
        errors.push(FieldError::required(format!("{at}.maxReplicas"), ""));
    }
    if max < min {
        invalid(
            errors,
            format!("{at}.maxReplicas"),
            &json!(max),
            "must be greater than or equal to `minReplicas`",
        );
    }
    let target = &value["scaleTargetRef"];
    for member in ["kind", "name"] {
        if text(target, member).is_empty() {
            errors.push(FieldError::required(format!("{at}.scaleTargetRef.{member}"), ""));
        }
    }
    // Only ReplicationControllers are of the core group.
    if !text(target, "apiVersion").contains('/') && text(target, "kind") != "ReplicationController" {
        let why = "apiVersion must specify API group";
        invalid(errors, format!("{at}.scaleTargetRef.apiVersion"), &json!(text(target, "apiVersion")), why);
    }
    let utilization = &value["targetCPUUtilizationPercentage"];
    if utilization.as_i64().is_some_and(|percent| percent < 1) {
        invalid(
            errors,
            format!("{at}.metrics[0].resource.target.averageUtilization"),
            utilization,
            "must be greater than 0",
        );
    }
    if min == 0
        && !items(value, "metrics").any(|(_, metric)| matches!(text(metric, "type"), "Object" | "External"))
    {
        let why = "must specify at least one Object or External metric to support scaling to zero replicas";
        errors.push(FieldError::forbidden(format!("{at}.metrics"), why));
    }
}

/// A metric has the source of its type, and no other.
pub(super) fn metric(value: &Value, at: &str, errors: &mut Vec<FieldError>) {
    const SOURCES: [(&str, &str); 5] = [
        ("Object", "object"),
        ("Pods", "pods"),
        ("Resource", "resource"),
        ("ContainerResource", "containerResource"),
        ("External", "external"),
    ];
    let kind = text(value, "type");
    for (of, member) in SOURCES {
        let source = &value[member];
        if of == kind && source.is_null() {
            let why = "must populate information for the given metric source";
            errors.push(FieldError::required(format!("{at}.{member}"), why));
        } else if of != kind && is_set(source) && SOURCES.iter().any(|(known, _)| *known == kind) {
            errors.push(FieldError::forbidden(
                format!("{at}.{member}"),
                "must populate the given metric source only",
            ));
        }
        if is_set(source) {
            target(of, &source["target"], &format!("{at}.{member}.target"), errors);
        }
    }
}

fn target(kind: &str, value: &Value, at: &str, errors: &mut Vec<FieldError>) {
    let positive = |amount: &Value| {
        Quantity::read(amount).is_none_or(|amount| !amount.is_negative() && !amount.is_zero())
    };
    match text(value, "type") {
        "Utilization" | "Value" | "AverageValue" => {}
        other => {
            if other.is_empty() {
                errors.push(FieldError::required(format!("{at}.type"), "must specify a metric target type"));
            }
            let why = "must be either Utilization, Value, or AverageValue";
            invalid(errors, format!("{at}.type"), &json!(other), why);
        }
    }
    for member in ["value", "averageValue"] {
        if is_set(&value[member]) && !positive(&value[member]) {
            invalid(errors, format!("{at}.{member}"), &value[member], "must be positive");
        }
    }
    let (utilization, average) = (&value["averageUtilization"], &value["averageValue"]);
    match kind {
        "Resource" | "ContainerResource" => {
            if utilization.as_i64().is_some_and(|percent| percent < 1) {
                invalid(errors, format!("{at}.averageUtilization"), utilization, "must be greater than 0");
            }
            if utilization.is_null() && average.is_null() {
                errors.push(FieldError::required(
                    format!("{at}.averageUtilization"),
                    "must set either a target raw value or a target utilization",
                ));
            }
            if is_set(utilization) && is_set(average) {
                errors.push(FieldError::forbidden(
                    format!("{at}.averageValue"),
                    "may not set both a target raw value and a target utilization",
                ));
            }
        }
        "Pods" if average.is_null() => {
            errors.push(FieldError::required(
                format!("{at}.averageValue"),
                "must specify a positive target averageValue",
            ));
        }
        "Object" | "External" if value["value"].is_null() && average.is_null() => {
            errors.push(FieldError::required(
                format!("{at}.averageValue"),
                "must set either a target value or averageValue",
            ));
        }
        _ => {}
    }
}
