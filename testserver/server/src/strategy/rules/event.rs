//! Validation of Events. Events with an `eventTime` follow the rules of `events.k8s.io`, whichever API they are written through; Events created through `events.k8s.io` must have one.

use serde_json::Value;

use super::{Errors, text};
use crate::{
    object::{meta, names},
    schema::FieldError,
    scheme::Endpoint,
};

/// Errors use the field names of `v1`.
pub(super) fn validate(endpoint: &Endpoint, object: &Value, created: bool, errors: &mut Errors) {
    let event = match endpoint.resource.equivalent {
        Some(equivalent) => equivalent.convert_to_storage(object.clone()),
        None => object.clone(),
    };
    let timed = !text(&event["eventTime"]).is_empty();
    namespace(&event, timed, errors);
    if timed {
        let field =
            if endpoint.resource.equivalent.is_some() { "reportingController" } else { "reportingComponent" };
        reporter(field, text(&event["reportingComponent"]), errors);
        for (field, max) in [("reportingInstance", 128), ("action", 128), ("reason", 128)] {
            match text(&event[field]) {
                "" => errors.required(field.into(), ""),
                long => length(field, long, max, errors),
            }
        }
        length("message", text(&event["message"]), 1024, errors);
    }
    if created && endpoint.resource.equivalent.is_some() {
        validate_new_event(&event, timed, errors);
    }
}

/// An Event is in the namespace of its object; Events of cluster-scoped objects are in `default`, or `kube-system` with an `eventTime`.
fn namespace(event: &Value, timed: bool, errors: &mut Errors) {
    let (own, other) =
        (meta::text(event, "namespace").unwrap_or_default(), text(&event["involvedObject"]["namespace"]));
    let fits = match other {
        "" => own == "default" || timed && own == "kube-system",
        other => timed || own == other,
    };
    if !fits {
        let field = "involvedObject.namespace";
        errors.add(FieldError::invalid(field, format!("{other:?}"), "does not match event.namespace"));
    }
}

fn reporter(field: &str, name: &str, errors: &mut Errors) {
    if name.is_empty() {
        errors.required(field.into(), "");
    }
    errors.text(field.into(), name, names::qualified_name(name));
}

fn length(field: &str, value: &str, max: usize, errors: &mut Errors) {
    if value.len() > max {
        invalid(field, &format!("can have at most {max} characters"), errors);
    }
}

fn validate_new_event(event: &Value, timed: bool, errors: &mut Errors) {
    if event["series"].is_object() {
        if event["series"]["count"].as_i64().unwrap_or_default() < 2 {
            invalid("series.count", "should be at least 2", errors);
        }
        if text(&event["series"]["lastObservedTime"]).is_empty() {
            errors.required("series.lastObservedTime".into(), "");
        }
    }
    if !timed {
        errors.required("eventTime".into(), "");
    }
    let kind = text(&event["type"]);
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
fn invalid(field: &str, detail: &str, errors: &mut Errors) {
    errors.add(FieldError::invalid(field, "\"\"", detail));
}
