//! Pods: images, the deadline and tolerations can change, the rest of the spec cannot.

use serde_json::Value;

use super::values::without;
use crate::schema::FieldError;

const WHY: &str = "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,\
    `spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),\
    `spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";
const LISTS: [&str; 2] = ["containers", "initContainers"];

pub(super) fn check(old: &Value, new: &Value, errors: &mut Vec<FieldError>) {
    let (before, now) = (&old["spec"], &new["spec"]);
    let count = |spec: &Value, list: &str| spec[list].as_array().map_or(0, Vec::len);
    for list in LISTS.into_iter().filter(|list| count(before, list) != count(now, list)) {
        let why = "pod updates may not add or remove containers";
        errors.push(FieldError::forbidden(format!("spec.{list}"), why));
    }
    if !errors.is_empty() {
        return;
    }
    deadline(&before["activeDeadlineSeconds"], &now["activeDeadlineSeconds"], errors);
    tolerations(&before["tolerations"], &now["tolerations"], errors);
    gates(&before["schedulingGates"], &now["schedulingGates"], errors);
    if kept(before, before, now) != kept(now, before, now) {
        errors.push(FieldError::forbidden("spec", WHY));
    }
}

/// A deadline can be set and brought forward.
fn deadline(before: &Value, now: &Value, errors: &mut Vec<FieldError>) {
    const FIELD: &str = "spec.activeDeadlineSeconds";
    if before == now {
        return;
    }
    let invalid = |why: &str| FieldError::invalid(FIELD, now, why);
    match (before.as_i64(), now.as_i64()) {
        (_, Some(seconds)) if !(0..=i64::from(i32::MAX)).contains(&seconds) => {
            errors.push(invalid("must be between 0 and 2147483647, inclusive"));
        }
        (Some(former), Some(seconds)) if former < seconds => {
            errors.push(invalid("must be less than or equal to previous value"));
        }
        (Some(_), None) => errors.push(invalid("must not update from a positive integer to nil value")),
        _ => {}
    }
}

/// Tolerations can be added; of a known one only `tolerationSeconds` can change.
fn tolerations(before: &Value, now: &Value, errors: &mut Vec<FieldError>) {
    let kept = |toleration: &Value| {
        let wanted = without(toleration, &["tolerationSeconds"]);
        now.as_array().into_iter().flatten().any(|other| without(other, &["tolerationSeconds"]) == wanted)
    };
    if !before.as_array().into_iter().flatten().all(kept) {
        let why = "existing toleration can not be modified except its tolerationSeconds";
        errors.push(FieldError::forbidden("spec.tolerations", why));
    }
}

/// Scheduling gates can be removed only.
fn gates(before: &Value, now: &Value, errors: &mut Vec<FieldError>) {
    let known = |gate: &Value| before.as_array().into_iter().flatten().any(|known| known == gate);
    for gate in now.as_array().into_iter().flatten().filter(|gate| !known(gate)) {
        let name = gate["name"].as_str().unwrap_or_default();
        let why = format!("only deletion is allowed, but found new scheduling gate '{name}'");
        errors.push(FieldError::forbidden("spec.schedulingGates", &why));
    }
}

/// The part of `spec` that a change from `before` to `now` must keep.
fn kept(spec: &Value, before: &Value, now: &Value) -> Value {
    let mut free = vec!["activeDeadlineSeconds", "tolerations", "schedulingGates", "ephemeralContainers"];
    let grace = |spec: &Value| spec["terminationGracePeriodSeconds"].as_i64();
    if grace(before).is_some_and(|seconds| seconds < 0) && grace(now) == Some(1) {
        free.push("terminationGracePeriodSeconds");
    }
    // The scheduler has not seen a pod with gates yet, so that a controller may still restrict its nodes.
    if before["schedulingGates"].as_array().is_some_and(|gates| !gates.is_empty()) {
        free.extend(["nodeSelector", "affinity.nodeAffinity"]);
    }
    let mut spec = without(spec, &free);
    for list in LISTS {
        for container in spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            if let Some(container) = container.as_object_mut() {
                container.remove("image");
            }
        }
    }
    spec
}
