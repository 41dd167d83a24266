//! Events. Those with an `eventTime` follow the rules of `events.k8s.io`, whichever API they are written through; those created through
//! `events.k8s.io` must have one.

use serde_json::Value;

use super::Write;
use crate::{
    object::{meta, names},
    schema::ErrorList,
    validation::values::text,
};

/// Errors use the field names of `v1`.
pub(super) fn validate(write: &Write<'_>, errors: &mut ErrorList) {
    let equivalent = write.endpoint.resource.equivalent;
    let converted = equivalent.map(|equivalent| equivalent.convert_to_storage(write.object.clone()));
    let event = converted.as_ref().unwrap_or(write.object);
    let timed = !text(event, "eventTime").is_empty();
    namespace(event, timed, errors);
    if timed {
        let field = if equivalent.is_some() { "reportingController" } else { "reportingComponent" };
        reporter(field, text(event, "reportingComponent"), errors);
        for (field, max) in [("reportingInstance", 128), ("action", 128), ("reason", 128)] {
            match text(event, field) {
                "" => errors.required(field, ""),
                long => length(field, long, max, errors),
            }
        }
        length("message", text(event, "message"), 1024, errors);
    }
    if write.old.is_none() && equivalent.is_some() {
        validate_new_event(event, timed, errors);
    }
}

/// An Event is in the namespace of its object; Events of cluster-scoped objects are in `default`, or `kube-system` with an `eventTime`.
fn namespace(event: &Value, timed: bool, errors: &mut ErrorList) {
    let (own, other) =
        (meta::text(event, "namespace").unwrap_or_default(), text(&event["involvedObject"], "namespace"));
    let fits = match other {
        "" => own == "default" || timed && own == "kube-system",
        other => timed || own == other,
    };
    if !fits {
        let field = "involvedObject.namespace";
        errors.invalid(field, format!("{other:?}"), "does not match event.namespace");
    }
}

fn reporter(field: &str, name: &str, errors: &mut ErrorList) {
    if name.is_empty() {
        errors.required(field, "");
    }
    errors.text(field, name, names::qualified_name(name));
}

fn length(field: &str, value: &str, max: usize, errors: &mut ErrorList) {
    if value.len() > max {
        invalid(field, &format!("can have at most {max} characters"), errors);
    }
}

fn validate_new_event(event: &Value, timed: bool, errors: &mut ErrorList) {
    if event["series"].is_object() {
        if event["series"]["count"].as_i64().unwrap_or_default() < 2 {
            invalid("series.count", "should be at least 2", errors);
        }
        if text(&event["series"], "lastObservedTime").is_empty() {
            errors.required("series.lastObservedTime", "");
        }
    }
    if !timed {
        errors.required("eventTime", "");
    }
    let kind = text(event, "type");
    if !matches!(kind, "Normal" | "Warning") {
        invalid("type", &format!("has invalid value: {kind}"), errors);
    }
    let is_set = |value: &Value| match value {
        Value::Null => false,
        Value::Object(members) => members.values().any(|value| value != ""),
        other => *other != 0,
    };
    for field in ["firstTimestamp", "lastTimestamp", "count", "source"] {
        if is_set(&event[field]) {
            invalid(field, "needs to be unset", errors);
        }
    }
}

/// Genuine servers do not print the value of these fields.
fn invalid(field: &str, detail: &str, errors: &mut ErrorList) {
    errors.invalid(field, "\"\"", detail);
}
