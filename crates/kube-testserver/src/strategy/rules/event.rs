//! Events. Those with an `eventTime` are of the newer kind, by whichever name they are written; what is created as one of
//! `events.k8s.io` has to be.

use serde_json::Value;

use super::{Errors, text};
use crate::{meta, names, schema::FieldError, scheme::Endpoint};

/// `event` has the names of `v1`: errors are told in these.
pub(super) fn validate(endpoint: &Endpoint, object: &Value, created: bool, errors: &mut Errors) {
    let event = match endpoint.resource.equivalent {
        Some(equivalent) => equivalent.to_storage(object.clone()),
        None => object.clone(),
    };
    let timed = !text(&event["eventTime"]).is_empty();
    namespace(&event, timed, errors);
    if timed {
        reporter(text(&event["reportingComponent"]), errors);
        for (field, longest) in [("reportingInstance", 128), ("action", 128), ("reason", 128)] {
            match text(&event[field]) {
                "" => errors.required(field.into(), ""),
                long => length(field, long, longest, errors),
            }
        }
        length("message", text(&event["message"]), 1024, errors);
    }
    if created && endpoint.resource.equivalent.is_some() {
        newer(&event, timed, errors);
    }
}

/// An event is where its object is; one about an object of the cluster is where the cluster's own are.
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

fn reporter(name: &str, errors: &mut Errors) {
    let field = "reportingController";
    if name.is_empty() {
        errors.required(field.into(), "");
    }
    errors.text(field.into(), name, names::qualified_name(name));
}

fn length(field: &str, value: &str, longest: usize, errors: &mut Errors) {
    if value.len() > longest {
        unshown(field, &format!("can have at most {longest} characters"), errors);
    }
}

fn newer(event: &Value, timed: bool, errors: &mut Errors) {
    if event["series"].is_object() {
        if event["series"]["count"].as_i64().unwrap_or_default() < 2 {
            unshown("series.count", "should be at least 2", errors);
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
        unshown("type", &format!("has invalid value: {kind}"), errors);
    }
    let is_set = |value: &Value| match value {
        Value::Null => false,
        Value::Object(members) => members.values().any(|value| value != ""),
        other => *other != 0,
    };
    for field in ["firstTimestamp", "lastTimestamp", "count", "source"] {
        if is_set(&event[field]) {
            unshown(field, "needs to be unset", errors);
        }
    }
}

/// The genuine server does not show what these fields have.
fn unshown(field: &str, detail: &str, errors: &mut Errors) {
    errors.add(FieldError::invalid(field, "\"\"", detail));
}
