//! Job: creates pods until enough of them have succeeded.

use serde_json::{Value, json};

use super::replicas::{is_active, is_over, is_ready, pod_from_template, remaining_capacity};
use super::rollout::seconds_since;
use crate::object::{conditions, meta};

/// The next actions for a Job.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct JobPlan {
    pub(crate) create: usize,
    /// Whether to delete running pods.
    pub(crate) stop: bool,
    /// Whether `ttlSecondsAfterFinished` has passed.
    pub(crate) expired: bool,
    /// Seconds until a deadline or the time to live.
    pub(crate) requeue_after: Option<u64>,
    pub(crate) status: Value,
}

/// A new pod of a Job.
pub(crate) fn pod_of_job(job: &Value) -> Value {
    let mut pod = pod_from_template(job, &job["spec"]["template"]);
    let metadata = &job["metadata"];
    for (label, value) in [
        ("batch.kubernetes.io/job-name", &metadata["name"]),
        ("batch.kubernetes.io/controller-uid", &metadata["uid"]),
        ("job-name", &metadata["name"]),
        ("controller-uid", &metadata["uid"]),
    ] {
        pod["metadata"]["labels"][label] = value.clone();
    }
    pod
}

/// Plans a Job; `pods` are all pods that it owns. Failed pods are replaced at once, without back-off.
pub(crate) fn plan_job(job: &Value, pods: &[Value], now: &str) -> JobPlan {
    let count = |phase: &str| pods.iter().filter(|pod| pod["status"]["phase"] == phase).count();
    let number = |field: &str, default: usize| {
        job["spec"][field].as_u64().and_then(|n| usize::try_from(n).ok()).unwrap_or(default)
    };
    let (succeeded, failed) = (count("Succeeded"), count("Failed"));
    let active: Vec<&Value> = pods.iter().filter(|pod| is_active(pod)).collect();
    let completions = number("completions", 1);
    let suspended = job["spec"]["suspend"] == true;
    let mut status = job["status"].clone();
    if !status.is_object() {
        status = json!({});
    }
    let mut all = status["conditions"].as_array().cloned().unwrap_or_default();
    let over = all
        .iter()
        .any(|c| matches!(c["type"].as_str(), Some("Complete" | "Failed")) && c["status"] == "True");
    let complete = succeeded >= completions;
    let too_many_failures = failed > number("backoffLimit", 6);
    let since = |field: &str| seconds_since(&job["status"][field], now);
    let left = |limit: &str, since: Option<u64>| Some(job["spec"][limit].as_u64()?.saturating_sub(since?));
    let deadline = left("activeDeadlineSeconds", since("startTime")).filter(|_| !suspended);
    let late = deadline == Some(0);
    if !over && complete {
        let message = "Reached expected number of succeeded pods";
        for kind in ["SuccessCriteriaMet", "Complete"] {
            conditions::set(&mut all, condition(kind, "CompletionsReached", message, now), now);
        }
        status["completionTime"] = now.into();
    } else if !over && too_many_failures {
        let message = "Job has reached the specified backoff limit";
        for kind in ["FailureTarget", "Failed"] {
            conditions::set(&mut all, condition(kind, "BackoffLimitExceeded", message, now), now);
        }
    } else if !over && late {
        let message = "Job was active longer than specified deadline";
        for kind in ["FailureTarget", "Failed"] {
            conditions::set(&mut all, condition(kind, "DeadlineExceeded", message, now), now);
        }
    }
    let over = over || complete || too_many_failures || late;
    let ended = all.iter().find(|c| matches!(c["type"].as_str(), Some("Complete" | "Failed")));
    let ended = ended.and_then(|ended| seconds_since(&ended["lastTransitionTime"], now));
    let ttl_left = left("ttlSecondsAfterFinished", ended).filter(|_| over);
    let room = number("parallelism", 1).min(completions.saturating_sub(succeeded));
    let create =
        if over || suspended { 0 } else { room.saturating_sub(active.len()).min(remaining_capacity(pods)) };
    if status["startTime"].is_null() && !suspended {
        status["startTime"] = now.into();
    }
    if !all.is_empty() {
        status["conditions"] = all.into();
    }
    let ready = active.iter().filter(|pod| is_ready(pod)).count();
    status["uncountedTerminatedPods"] = json!({});
    status["ready"] = ready.into();
    status["terminating"] = pods.iter().filter(|pod| meta::is_deleting(pod) && !is_over(pod)).count().into();
    for (field, count) in [("active", active.len()), ("succeeded", succeeded), ("failed", failed)] {
        match status.as_object_mut() {
            Some(status) if count == 0 => drop(status.remove(field)),
            Some(status) => drop(status.insert(field.into(), count.into())),
            None => {}
        }
    }
    // Before the start, the whole deadline is left.
    let full_deadline =
        job["spec"]["activeDeadlineSeconds"].as_u64().filter(|_| !suspended && deadline.is_none());
    let requeue_after = if over { ttl_left } else { deadline.or(full_deadline) }.filter(|left| *left > 0);
    JobPlan {
        create,
        stop: (over || suspended) && !active.is_empty(),
        expired: ttl_left == Some(0),
        requeue_after,
        status,
    }
}

fn condition(kind: &str, reason: &str, message: &str, now: &str) -> Value {
    json!({"type": kind, "status": "True", "reason": reason, "message": message, "lastProbeTime": now})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workloads::replicas::MAX_PODS;

    fn pods(phases: &[&str]) -> Vec<Value> {
        phases.iter().map(|phase| json!({"metadata": {}, "status": {"phase": phase}})).collect()
    }

    fn has(plan: &JobPlan, kind: &str) -> bool {
        let conditions = plan.status["conditions"].as_array();
        conditions.is_some_and(|all| all.iter().any(|c| c["type"] == kind && c["status"] == "True"))
    }

    #[test]
    fn pods_run_in_parallel_until_enough_have_succeeded() {
        let job = json!({"spec": {"completions": 5, "parallelism": 2}});
        assert_eq!(plan_job(&job, &[], "t").create, 2);
        assert_eq!(plan_job(&job, &pods(&["Succeeded", "Running"]), "t").create, 1);
        let many = json!({"spec": {"parallelism": i32::MAX, "completions": i32::MAX}});
        assert_eq!(plan_job(&many, &[], "t").create, MAX_PODS);
        assert_eq!(plan_job(&many, &pods(&["Succeeded"; MAX_PODS]), "t").create, 0);
        assert_eq!(plan_job(&job, &pods(&["Succeeded"; 4]), "t").create, 1, "no more than are still needed");
        let done = plan_job(&job, &pods(&["Succeeded"; 5]), "t");
        assert!(done.create == 0 && has(&done, "Complete") && done.status["completionTime"] == "t");
        assert_eq!((&done.status["succeeded"], &done.status["terminating"]), (&json!(5), &json!(0)));
    }

    #[test]
    fn failures_are_retried_up_to_the_backoff_limit() {
        let job = json!({"spec": {"backoffLimit": 1}});
        assert_eq!(plan_job(&job, &pods(&["Failed"]), "t").create, 1);
        let failed = plan_job(&job, &pods(&["Failed", "Failed"]), "t");
        assert!(failed.create == 0 && has(&failed, "Failed") && !has(&failed, "Complete"));
        let over = json!({"spec": {"backoffLimit": 1}, "status": failed.status});
        assert_eq!(plan_job(&over, &pods(&["Failed", "Failed"]), "later").status, over["status"], "for ever");
    }

    #[test]
    fn deadline_and_ttl_end_a_job() {
        let at = |second: u32| format!("2026-01-01T00:00:{second:02}Z");
        let mut job = json!({"spec": {"activeDeadlineSeconds": 5, "ttlSecondsAfterFinished": 10}});
        let started = plan_job(&job, &[], &at(0));
        assert_eq!((started.requeue_after, started.create), (Some(5), 1));
        job["status"] = started.status;
        let running = plan_job(&job, &pods(&["Running"]), &at(3));
        assert_eq!((running.requeue_after, running.stop), (Some(2), false));
        let late = plan_job(&job, &pods(&["Running"]), &at(5));
        assert!(late.stop && late.create == 0 && has(&late, "Failed") && late.requeue_after == Some(10));
        assert_eq!(late.status["conditions"][0]["reason"], "DeadlineExceeded");
        job["status"] = late.status;
        assert!(!plan_job(&job, &[], &at(14)).expired && plan_job(&job, &[], &at(15)).expired);
    }

    #[test]
    fn a_suspended_job_has_no_pods() {
        let plan = plan_job(&json!({"spec": {"suspend": true}}), &pods(&["Running"]), "t");
        assert!(plan.create == 0 && plan.stop && plan.status["startTime"].is_null());
    }
}
