//! Pods: images, the deadline and tolerations can change, the rest of the spec cannot.

use serde_json::Value;

use super::values::without;
use crate::schema::{ErrorList, FieldError};

const WHY: &str = "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,\
    `spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),\
    `spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";
const LISTS: [&str; 2] = ["containers", "initContainers"];

pub(super) fn check(old: &Value, new: &Value, errors: &mut ErrorList) {
    let (before, now) = (&old["spec"], &new["spec"]);
    let count = |spec: &Value, list: &str| spec[list].as_array().map_or(0, Vec::len);
    for list in LISTS.into_iter().filter(|list| count(before, list) != count(now, list)) {
        errors.forbidden(format!("spec.{list}"), "pod updates may not add or remove containers");
    }
    if !errors.is_empty() {
        return;
    }
    deadline(&before["activeDeadlineSeconds"], &now["activeDeadlineSeconds"], errors);
    tolerations(&before["tolerations"], &now["tolerations"], errors);
    gates(&before["schedulingGates"], &now["schedulingGates"], errors);
    if is_gated(before) {
        nodes_of_gated(before, now, errors);
    }
    if kept(before, before, now) != kept(now, before, now) {
        errors.forbidden("spec", WHY);
    }
}

/// A deadline can be set and brought forward.
fn deadline(before: &Value, now: &Value, errors: &mut ErrorList) {
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
fn tolerations(before: &Value, now: &Value, errors: &mut ErrorList) {
    let remains = |toleration: &Value| {
        let rest = without(toleration, &["tolerationSeconds"]);
        now.as_array().into_iter().flatten().any(|other| without(other, &["tolerationSeconds"]) == rest)
    };
    if !before.as_array().into_iter().flatten().all(remains) {
        let why = "existing toleration can not be modified except its tolerationSeconds";
        errors.forbidden("spec.tolerations", why);
    }
}

/// Scheduling gates can be removed only.
fn gates(before: &Value, now: &Value, errors: &mut ErrorList) {
    let existed = |gate: &Value| before.as_array().into_iter().flatten().any(|former| former == gate);
    for (i, gate) in now.as_array().into_iter().flatten().enumerate().filter(|(_, gate)| !existed(gate)) {
        let name = gate["name"].as_str().unwrap_or_default();
        let why = format!("only deletion is allowed, but found new scheduling gate '{name}'");
        errors.forbidden(format!("spec.schedulingGates[{i}].name"), &why);
    }
}

/// The scheduler has not seen a pod with gates yet, so that a controller may restrict its nodes further.
fn nodes_of_gated(before: &Value, now: &Value, errors: &mut ErrorList) {
    const TERMS: &str =
        "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms";
    let mut selected = before["nodeSelector"].as_object().into_iter().flatten();
    if !selected.all(|(key, value)| now["nodeSelector"].get(key) == Some(value)) {
        let why = "only additions to spec.nodeSelector are allowed (no mutations or deletions)";
        errors.invalid("spec.nodeSelector", &now["nodeSelector"], why);
    }
    let terms = |spec: &Value| {
        let required = &spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
        required["nodeSelectorTerms"].as_array().cloned().unwrap_or_default()
    };
    let (former, terms) = (terms(before), terms(now));
    if !former.is_empty() && former.len() != terms.len() {
        let why = "no additions/deletions to non-empty NodeSelectorTerms list are allowed";
        return errors.invalid(TERMS, Value::from(terms), why);
    }
    for (i, (former, term)) in former.iter().zip(&terms).enumerate() {
        let extends = |list: &str| {
            let requirements = |term: &Value| term[list].as_array().cloned().unwrap_or_default();
            requirements(term).starts_with(&requirements(former))
        };
        if !extends("matchExpressions") || !extends("matchFields") {
            let why = "only additions are allowed (no mutations or deletions)";
            errors.invalid(format!("{TERMS}[{i}]"), term, why);
        }
    }
}

fn is_gated(spec: &Value) -> bool {
    spec["schedulingGates"].as_array().is_some_and(|gates| !gates.is_empty())
}

/// The part of `spec` that a change from `before` to `now` must keep.
fn kept(spec: &Value, before: &Value, now: &Value) -> Value {
    let mut free = vec!["activeDeadlineSeconds", "tolerations", "schedulingGates"];
    let grace = |spec: &Value| spec["terminationGracePeriodSeconds"].as_i64();
    if grace(before).is_some_and(|seconds| seconds < 0) && grace(now) == Some(1) {
        free.push("terminationGracePeriodSeconds");
    }
    if is_gated(before) {
        free.extend(["nodeSelector", "affinity.nodeAffinity"]);
    }
    let mut spec = without(spec, &free);
    if spec["affinity"].as_object().is_some_and(serde_json::Map::is_empty) {
        spec = without(&spec, &["affinity"]);
    }
    for list in LISTS {
        for container in spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            if let Some(container) = container.as_object_mut() {
                container.remove("image");
            }
        }
    }
    spec
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// What `v1.37` answered to each.
    #[test]
    fn nodes_of_gated_pods_are_restricted_further() {
        let term = |keys: &[&str]| json!({"matchExpressions": keys.iter().map(|key| json!({"key": key, "operator": "Exists"})).collect::<Vec<_>>()});
        let spec = |selector: Value, terms: Vec<Value>| {
            let required =
                json!({"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}});
            json!({"schedulingGates": [{"name": "g"}], "nodeSelector": selector, "affinity": {"nodeAffinity": required}})
        };
        let selector = json!({"a": "b"});
        let before = json!({"spec": spec(selector.clone(), vec![term(&["a"]), term(&["b"])])});
        for (after, place) in [
            (spec(json!({"a": "b", "c": "d"}), vec![term(&["a", "c"]), term(&["b"])]), ""),
            (spec(json!({"a": "x"}), vec![term(&["a"]), term(&["b"])]), "spec.nodeSelector"),
            (spec(selector.clone(), vec![term(&["a"])]), "nodeSelectorTerms"),
            (spec(selector.clone(), vec![term(&["c"]), term(&["b"])]), "nodeSelectorTerms[0]"),
        ] {
            let mut errors = ErrorList::default();
            check(&before, &json!({"spec": after}), &mut errors);
            let fields: Vec<&str> = errors.iter().map(|error| error.field.as_str()).collect();
            assert_eq!(fields.len(), usize::from(!place.is_empty()), "{fields:?}");
            assert!(fields.iter().all(|field| field.ends_with(place)), "{fields:?}");
        }
        let (before, mut after) = (json!({"spec": {"schedulingGates": [{"name": "g"}]}}), before);
        let mut errors = ErrorList::default();
        check(&before, &after, &mut errors);
        assert!(errors.is_empty(), "the first terms are a restriction");
        after["spec"]["ephemeralContainers"] = json!([{"name": "e"}]);
        check(&before, &after, &mut errors);
        assert_eq!(errors[0].field, "spec");
    }
}
