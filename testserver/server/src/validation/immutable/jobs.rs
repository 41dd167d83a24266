//! Jobs: what can change depends on whether the Job is suspended or indexed.

use serde_json::Value;

use super::values::{IMMUTABLE, without};
use crate::schema::ErrorList;

/// What a suspended Job that has not started may change in the spec of its pods (KEP-2926), besides the resources of containers.
const OF_SCHEDULING: &[&str] = &["nodeSelector", "tolerations", "schedulingGates", "affinity.nodeAffinity"];

/// An indexed Job can change completions together with parallelism, to the same value (KEP-3715).
pub(super) fn completions(old: &Value, new: &Value, errors: &mut ErrorList) {
    let (before, now) = (&old["spec"]["completions"], &new["spec"]["completions"]);
    if before == now {
        return;
    }
    let indexed = new["spec"]["completionMode"] == "Indexed";
    let elastic = indexed
        && !before.is_null()
        && *now == new["spec"]["parallelism"]
        && *before == old["spec"]["parallelism"];
    // An indexed Job needs completions, which is another rule.
    if elastic || indexed && now.is_null() {
        return;
    }
    let why = if indexed { "can only be modified in tandem with spec.parallelism" } else { IMMUTABLE };
    errors.invalid("spec.completions", now, why);
}

pub(super) fn template(old: &Value, new: &Value, errors: &mut ErrorList) {
    let (before, now) = (&old["spec"]["template"], &new["spec"]["template"]);
    let waits = old["spec"]["suspend"] == true && old["status"]["startTime"].is_null();
    if waits && kept(&before["spec"]) != kept(&now["spec"]) {
        errors.invalid("spec.template.spec", &now["spec"], IMMUTABLE);
    } else if !waits && before != now {
        errors.invalid("spec.template", now, IMMUTABLE);
    }
}

/// The part of a pod's spec that cannot change.
fn kept(pod: &Value) -> Value {
    let mut pod = without(pod, OF_SCHEDULING);
    if pod["affinity"].as_object().is_some_and(serde_json::Map::is_empty) {
        pod = without(&pod, &["affinity"]);
    }
    for list in ["containers", "initContainers"] {
        for container in pod.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            *container = without(container, &["resources"]);
        }
    }
    pod
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// What `v1.37` answered to each.
    #[test]
    fn a_waiting_job_may_change_where_its_pods_run() {
        let job =
            |suspend: bool, template: Value| json!({"spec": {"suspend": suspend, "template": template}});
        let pod = json!({"containers": [{"name": "c", "image": "i"}]});
        let with = |member: &str, value: Value| {
            let mut pod = pod.clone();
            pod[member] = value;
            json!({"spec": pod})
        };
        let before = json!({"spec": pod});
        for (after, free) in [
            (json!({"metadata": {"labels": {"a": "b"}}, "spec": pod}), true),
            (with("nodeSelector", json!({"a": "b"})), true),
            (with("affinity", json!({"nodeAffinity": {}})), true),
            (with("affinity", json!({"podAffinity": {}})), false),
            (with("containers", json!([{"name": "c", "image": "i", "resources": {"limits": {}}}])), true),
            (with("containers", json!([{"name": "c", "image": "j"}])), false),
        ] {
            for (suspend, field) in [(true, "spec.template.spec"), (false, "spec.template")] {
                let mut errors = ErrorList::default();
                template(&job(suspend, before.clone()), &job(suspend, after.clone()), &mut errors);
                let fields: Vec<&str> = errors.iter().map(|error| error.field.as_str()).collect();
                let expected = if suspend && free { vec![] } else { vec![field] };
                assert_eq!(fields, expected, "{after}");
            }
        }
    }
}
