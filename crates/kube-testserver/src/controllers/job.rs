//! Job: pods until enough of them have succeeded.

use serde_json::{Value, json};

use super::{
    conditions,
    replicas::{is_active, is_ready},
};

/// What a Job needs.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct JobPlan {
    pub(crate) create: usize,
    /// Whether pods that still run are to go.
    pub(crate) stop: bool,
    pub(crate) status: Value,
}

/// `pods` are all that the Job owns. Failed pods are replaced at once: there is no back-off in time.
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
    let hopeless = failed > number("backoffLimit", 6);
    if !over && complete {
        let message = "Reached expected number of succeeded pods";
        for kind in ["SuccessCriteriaMet", "Complete"] {
            conditions::set(&mut all, condition(kind, "CompletionsReached", message, now), now);
        }
        status["completionTime"] = now.into();
    } else if !over && hopeless {
        let message = "Job has reached the specified backoff limit";
        for kind in ["FailureTarget", "Failed"] {
            conditions::set(&mut all, condition(kind, "BackoffLimitExceeded", message, now), now);
        }
    }
    let over = over || complete || hopeless;
    let room = number("parallelism", 1).min(completions.saturating_sub(succeeded));
    let create = if over || suspended { 0 } else { room.saturating_sub(active.len()) };
    if status["startTime"].is_null() && !suspended {
        status["startTime"] = now.into();
    }
    if !all.is_empty() {
        status["conditions"] = all.into();
    }
    let ready = active.iter().filter(|pod| is_ready(pod)).count();
    status["uncountedTerminatedPods"] = json!({});
    status["ready"] = ready.into();
    for (field, count) in [("active", active.len()), ("succeeded", succeeded), ("failed", failed)] {
        match status.as_object_mut() {
            Some(status) if count == 0 => drop(status.remove(field)),
            Some(status) => drop(status.insert(field.into(), count.into())),
            None => {}
        }
    }
    JobPlan { create, stop: (over || suspended) && !active.is_empty(), status }
}

fn condition(kind: &str, reason: &str, message: &str, now: &str) -> Value {
    json!({"type": kind, "status": "True", "reason": reason, "message": message, "lastProbeTime": now})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pods(phases: &[&str]) -> Vec<Value> {
        phases.iter().map(|phase| json!({"metadata": {}, "status": {"phase": phase}})).collect()
    }

    fn has(plan: &JobPlan, kind: &str) -> bool {
        let conditions = plan.status["conditions"].as_array();
        conditions.is_some_and(|all| all.iter().any(|c| c["type"] == kind && c["status"] == "True"))
    }

    #[test]
    fn pods_run_side_by_side_until_enough_have_succeeded() {
        let job = json!({"spec": {"completions": 5, "parallelism": 2}});
        assert_eq!(plan_job(&job, &[], "t").create, 2);
        assert_eq!(plan_job(&job, &pods(&["Succeeded", "Running"]), "t").create, 1);
        assert_eq!(plan_job(&job, &pods(&["Succeeded"; 4]), "t").create, 1, "no more than are still needed");
        let done = plan_job(&job, &pods(&["Succeeded"; 5]), "t");
        assert!(done.create == 0 && has(&done, "Complete") && done.status["completionTime"] == "t");
        assert_eq!(done.status["succeeded"], 5);
    }

    #[test]
    fn failures_are_repeated_up_to_the_limit() {
        let job = json!({"spec": {"backoffLimit": 1}});
        assert_eq!(plan_job(&job, &pods(&["Failed"]), "t").create, 1);
        let failed = plan_job(&job, &pods(&["Failed", "Failed"]), "t");
        assert!(failed.create == 0 && has(&failed, "Failed") && !has(&failed, "Complete"));
        let over = json!({"spec": {"backoffLimit": 1}, "status": failed.status});
        assert_eq!(plan_job(&over, &pods(&["Failed", "Failed"]), "later").status, over["status"], "for ever");
    }

    #[test]
    fn a_suspended_job_has_no_pods() {
        let plan = plan_job(&json!({"spec": {"suspend": true}}), &pods(&["Running"]), "t");
        assert!(plan.create == 0 && plan.stop && plan.status["startTime"].is_null());
    }
}
