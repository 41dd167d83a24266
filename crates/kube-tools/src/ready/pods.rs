//! Rules for pods and jobs.

use std::time::Duration;

use serde_json::Value;

use super::readiness::{Readiness, failed, in_progress, ready};
use super::view::View;

pub(super) fn pod(object: View<'_>) -> Readiness {
    match object.text("/status/phase").unwrap_or("Pending") {
        "Succeeded" => ready("the pod has succeeded"),
        "Failed" => failed(explained("the pod has failed", object)),
        phase => match object.condition("Ready") {
            Some(condition) if condition.is("True") => ready("the pod is ready"),
            _ => in_progress(waiting(object).unwrap_or_else(|| format!("the phase of the pod is {phase}"))),
        },
    }
}

/// Why a pod is not ready: what a container waits for, or which condition is missing.
fn waiting(object: View<'_>) -> Option<String> {
    let all = ["/status/initContainerStatuses", "/status/containerStatuses"];
    let mut statuses = all.into_iter().flat_map(|pointer| object.items(pointer));
    // Of the first container that has a reason: "PodInitializing" of the others only follows from it.
    let container = statuses.find_map(|status| {
        let waiting = status.pointer("/state/waiting")?;
        let text = |field| waiting.get(field).and_then(Value::as_str).filter(|text| !text.is_empty());
        let reason =
            text("reason").filter(|reason| !matches!(*reason, "PodInitializing" | "ContainerCreating"))?;
        let message = text("message").map(|message| format!(": {message}")).unwrap_or_default();
        let name = status.get("name").and_then(Value::as_str).unwrap_or_default();
        Some(format!("container {name:?} is waiting: {reason}{message}"))
    });
    container.or_else(|| {
        let types = ["PodScheduled", "Initialized", "ContainersReady", "Ready"];
        let mut conditions = types.into_iter().filter_map(|type_| object.condition(type_));
        conditions.find(|condition| !condition.is("True")).map(|condition| condition.explanation())
    })
}

pub(super) fn job(object: View<'_>) -> Readiness {
    if let Some(outcome) = job_outcome(object) {
        return outcome;
    }
    if object.condition("Suspended").is_some_and(|condition| condition.is("True")) {
        return in_progress("the job is suspended");
    }
    let [active, succeeded, failures] = ["active", "succeeded", "failed"].map(|it| object.count(it));
    in_progress(format!("pods of the job: {active} active, {succeeded} succeeded, {failures} failed"))
}

fn job_outcome(object: View<'_>) -> Option<Readiness> {
    let is_true = |type_: &str| object.condition(type_).filter(|condition| condition.is("True"));
    if let Some(condition) = is_true("Failed") {
        return Some(failed(format!("the job has failed: {}", condition.explanation())));
    }
    is_true("Complete").map(|_| ready("the job has completed"))
}

/// The outcome of a job that is deleted because it has finished.
pub(super) fn finished_job(object: View<'_>) -> Option<Readiness> {
    job_ttl(object).and_then(|_| job_outcome(object))
}

/// Seconds between the end of a job and its deletion; `None` for other kinds, and jobs that stay.
fn job_ttl(object: View<'_>) -> Option<u64> {
    match (object.group, object.kind) {
        ("batch", "Job") => object.number("/spec/ttlSecondsAfterFinished")?.try_into().ok(),
        _ => None,
    }
}

/// The outcome of a job that is gone. If its states after this one were not seen, it may have finished then, and must have been gone for
/// its time to live; if they were seen, it was deleted before it had finished. `None` for what did not end by itself.
pub(super) fn gone_job(object: View<'_>, unseen: Option<Duration>) -> Option<Readiness> {
    let ttl = job_ttl(object)?;
    if let Some(outcome) = job_outcome(object) {
        return Some(outcome);
    }
    let unseen = unseen.filter(|unseen| *unseen >= Duration::from_secs(ttl))?;
    Some(match ttl {
        0 => ready("the job has finished and was deleted at once; whether it has failed is not known"),
        // It lives for a while so that its end can be seen.
        _ => failed(format!(
            "the job is gone, and whether it has completed is not known: nobody has seen it for {} s, and it is deleted {ttl} s after its end",
            unseen.as_secs()
        )),
    })
}

/// With reason and message of the status, where it has them.
fn explained(what: &str, object: View<'_>) -> String {
    let parts = ["/status/reason", "/status/message"].into_iter().filter_map(|pointer| object.text(pointer));
    [what].into_iter().chain(parts).collect::<Vec<_>>().join(": ")
}
