//! The pods of a Job.

use serde_json::{Value, json};

use super::indexes::INDEX;
use crate::{object::meta, workloads::template::pod_from_template};

/// The finalizer of a pod that its Job has not counted yet.
pub(crate) const TRACKING: &str = "batch.kubernetes.io/job-tracking";
/// How often the pods of an index have failed before this one.
const FAILURES: &str = "batch.kubernetes.io/job-index-failure-count";

/// A new pod of a Job: its index if the Job is Indexed, and the failures of the index so far if they have a limit. The labels of the Job
/// are in its template, unless `manualSelector` is set.
pub(crate) fn pod_of_job(job: &Value, index: Option<usize>, failures: Option<u64>) -> Value {
    let mut pod = pod_from_template(job, &job["spec"]["template"]);
    track(&mut pod);
    if let Some(index) = index {
        let (name, index) = (meta::name(job), index.to_string());
        meta::set(&mut pod, "generateName", format!("{name}-{index}-"));
        pod["metadata"]["labels"][INDEX] = index.as_str().into();
        pod["metadata"]["annotations"][INDEX] = index.as_str().into();
        pod["spec"]["hostname"] = format!("{name}-{index}").into();
        tell_index(&mut pod["spec"]);
    }
    if let Some(failures) = failures {
        pod["metadata"]["annotations"][FAILURES] = failures.to_string().into();
    }
    pod
}

/// Adds the finalizer, unless the pod has it.
pub(crate) fn track(pod: &mut Value) {
    let mut finalizers: Vec<String> = meta::strings(pod, "finalizers").into_iter().map(Into::into).collect();
    if !finalizers.iter().any(|finalizer| finalizer == TRACKING) {
        finalizers.push(TRACKING.into());
        meta::set_finalizers(pod, finalizers.iter().map(String::as_str));
    }
}

/// Gives every container its index as a variable.
fn tell_index(spec: &mut Value) {
    const VARIABLE: &str = "JOB_COMPLETION_INDEX";
    let variable = json!({"name": VARIABLE, "valueFrom": {"fieldRef": {"apiVersion": "v1",
        "fieldPath": format!("metadata.labels['{INDEX}']")}}});
    for list in ["initContainers", "containers"] {
        for container in spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            let mut variables = container["env"].as_array().cloned().unwrap_or_default();
            if variables.iter().all(|other| other["name"] != VARIABLE) {
                variables.push(variable.clone());
            }
            container["env"] = variables.into();
        }
    }
}

/// The failures of an index before this pod.
pub(super) fn failures_before(pod: &Value) -> u64 {
    pod["metadata"]["annotations"][FAILURES].as_str().and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// Whether the Job has still to count the pod.
pub(crate) fn is_tracked(pod: &Value) -> bool {
    meta::strings(pod, "finalizers").contains(&TRACKING)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pods_are_tracked_and_know_their_index() {
        let template = json!({"metadata": {"finalizers": ["a/b"]}, "spec": {"containers": [{"env": [{"name": "A"}]}, {}]}});
        let job = json!({"metadata": {"name": "j", "uid": "u"}, "spec": {"template": template}});
        let plain = pod_of_job(&job, None, None);
        assert!(is_tracked(&plain) && meta::text(&plain, "generateName") == Some("j-"));
        assert_eq!(plain["metadata"]["finalizers"], json!(["a/b", TRACKING]));
        assert!(plain["metadata"]["labels"].is_null(), "the labels are those of the template");
        let third = pod_of_job(&job, Some(3), Some(2));
        assert_eq!(
            (meta::text(&third, "generateName"), &third["spec"]["hostname"]),
            (Some("j-3-"), &json!("j-3"))
        );
        assert_eq!((&third["metadata"]["labels"][INDEX], failures_before(&third)), (&json!("3"), 2));
        let field = "metadata.labels['batch.kubernetes.io/job-completion-index']";
        assert_eq!(third["spec"]["containers"][0]["env"][1]["valueFrom"]["fieldRef"]["fieldPath"], field);
        assert_eq!(third["spec"]["containers"][1]["env"][0]["name"], "JOB_COMPLETION_INDEX");
    }
}
