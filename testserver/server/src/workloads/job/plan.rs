//! Plans a Job: its pods, its status, and whether and why it ends.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::tally::{NewPod, Tally, tally};
use crate::{
    clock::{seconds_left, time},
    object::{conditions, event::Note},
    workloads::pod::{MAX_PODS, Pod},
};

/// After so many pods that have failed or otherwise ended within [`LATELY`], a Job waits before it creates others: pods that end at once
/// would keep it busy within one request for ever.
const MANY_FAILED: usize = 100;
const MANY_ENDED: usize = 2 * MAX_PODS;
/// In seconds.
const LATELY: u64 = 10;

/// The next actions for a Job.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct JobPlan {
    pub(crate) create: Vec<NewPod>,
    /// Indexes of pods in the list that the Job stops.
    pub(crate) delete: Vec<usize>,
    /// Indexes of pods in the list whose finalizer is not needed any more.
    pub(crate) release: Vec<usize>,
    /// Whether `ttlSecondsAfterFinished` has passed.
    pub(crate) expired: bool,
    /// Seconds until a deadline or the time to live.
    pub(crate) requeue_after: Option<u64>,
    pub(crate) status: Value,
    pub(crate) notes: Vec<Note>,
}

/// Why a Job ends.
enum End {
    Success { reason: &'static str, message: String },
    Failure { reason: &'static str, message: String },
}

/// The condition with which a Job has ended, if it has.
pub(crate) fn finished(job: &Value) -> Option<&'static str> {
    let conditions = job["status"]["conditions"].as_array()?;
    let holds = |kind: &str| conditions.iter().any(|c| c["type"] == kind && c["status"] == "True");
    ["Complete", "Failed"].into_iter().find(|kind| holds(kind))
}

/// Plans a Job; `pods` are all pods that it owns. Failed pods are replaced at once, without back-off, unless they are many.
pub(crate) fn plan_job(job: &Value, pods: &[Arc<Pod>], now: &str) -> JobPlan {
    let tally = tally(job, pods);
    let mut plan = JobPlan { release: tally.release.clone(), ..JobPlan::default() };
    let suspended = job["spec"]["suspend"] == true;
    let at: Option<Timestamp> = now.parse().ok();
    let left = |limit: &str, since: &Value| seconds_left(job["spec"][limit].as_u64()?, time(since), at);
    let deadline = left("activeDeadlineSeconds", &job["status"]["startTime"]).filter(|_| !suspended);
    let mut conditions = job["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let was_over = finished(job).is_some();
    let end = if was_over { None } else { end(job, &tally, deadline == Some(0)) };
    let over = was_over || end.is_some();
    let mut pauses = false;
    plan.status = tally.status(job);
    if let Some(end) = end {
        plan.end(end, &tally, &mut conditions, now);
    } else if !was_over {
        plan.suspend(suspended, &mut conditions, now);
    }
    if over || suspended {
        plan.delete.clone_from(&tally.active);
        if let Some(status) = plan.status.as_object_mut() {
            status.remove("active");
            status.insert("ready".into(), 0.into());
        }
    } else {
        let (create, surplus) = tally.changes(job);
        // Pods that are over take no room.
        let room = MAX_PODS.saturating_sub(pods.iter().filter(|pod| !pod.is_over()).count());
        pauses = !create.is_empty() && needs_pause(pods, at);
        plan.create = create.into_iter().take(if pauses { 0 } else { room }).collect();
        plan.delete = surplus;
    }
    if suspended && !over {
        plan.status.as_object_mut().map(|status| status.remove("startTime"));
    } else if plan.status["startTime"].is_null() && !over {
        plan.status["startTime"] = now.into();
    }
    let ended = conditions.iter().find(|c| matches!(c["type"].as_str(), Some("Complete" | "Failed")));
    let ttl_left = ended.and_then(|ended| left("ttlSecondsAfterFinished", &ended["lastTransitionTime"]));
    let ttl_left = ttl_left.filter(|_| over);
    if !conditions.is_empty() {
        plan.status["conditions"] = conditions.into();
    }
    // Before the start, the whole deadline is left.
    let full_deadline =
        job["spec"]["activeDeadlineSeconds"].as_u64().filter(|_| !suspended && deadline.is_none());
    plan.requeue_after = if over { ttl_left } else { deadline.or(full_deadline) }.filter(|left| *left > 0);
    if pauses {
        plan.requeue_after = Some(1);
    }
    plan.expired = ttl_left == Some(0);
    plan
}

impl JobPlan {
    /// Sets the conditions of the end. Pods that still run when a Job fails count as failed.
    fn end(&mut self, end: End, tally: &Tally, conditions: &mut Vec<Value>, now: &str) {
        let (kinds, reason, message) = match end {
            End::Success { reason, message } => {
                self.status["completionTime"] = now.into();
                self.notes.push(Note::normal("Completed", "Job completed"));
                (["SuccessCriteriaMet", "Complete"], reason, message)
            }
            End::Failure { reason, message } => {
                self.notes.push(Note::warning(reason, message.clone()));
                let failed = self.status["failed"].as_u64().unwrap_or(0) + tally.active.len() as u64;
                if failed > 0 {
                    self.status["failed"] = failed.into();
                }
                (["FailureTarget", "Failed"], reason, message)
            }
        };
        for kind in kinds {
            conditions::set(conditions, condition((kind, "True"), reason, &message, now), now);
        }
    }

    fn suspend(&mut self, suspended: bool, conditions: &mut Vec<Value>, now: &str) {
        let was = conditions.iter().any(|c| c["type"] == "Suspended" && c["status"] == "True");
        let (status, reason, message) = match suspended {
            true => ("True", "JobSuspended", "Job suspended"),
            false => ("False", "JobResumed", "Job resumed"),
        };
        if was != suspended {
            self.notes.push(Note::normal(if suspended { "Suspended" } else { "Resumed" }, message));
            conditions::set(conditions, condition(("Suspended", status), reason, message, now), now);
        }
    }
}

/// Whether so many pods have ended of late that the next ones have to wait.
fn needs_pause(pods: &[Arc<Pod>], now: Option<Timestamp>) -> bool {
    let lately = |pod: &&Arc<Pod>| seconds_left(LATELY, pod.ended_at(), now).is_some_and(|left| left > 0);
    let ended: Vec<&Arc<Pod>> = pods.iter().filter(lately).collect();
    let failed = ended.iter().filter(|pod| pod.object["status"]["phase"] == "Failed").count();
    failed >= MANY_FAILED || ended.len() >= MANY_ENDED
}

/// Whether and why the Job ends now.
fn end(job: &Value, tally: &Tally, late: bool) -> Option<End> {
    let failure = |reason, message: &str| Some(End::Failure { reason, message: message.to_owned() });
    let limit = |field: &str| job["spec"][field].as_u64();
    if let Some(message) = &tally.failed_job {
        return failure("PodFailurePolicy", message);
    }
    if let Some(rule) = tally.met_success_rule(job) {
        return Some(End::Success {
            reason: "SuccessPolicy",
            message: format!("Matched rules at index {rule}"),
        });
    }
    if tally.all_failed() > limit("backoffLimit").unwrap_or(6) || tally.restarts_exceed(job) {
        return failure("BackoffLimitExceeded", "Job has reached the specified backoff limit");
    }
    if late {
        return failure("DeadlineExceeded", "Job was active longer than specified deadline");
    }
    if limit("maxFailedIndexes").is_some_and(|limit| tally.failed_indexes.len() as u64 > limit) {
        let message = "Job has exceeded the specified maximal number of failed indexes";
        return failure("MaxFailedIndexesExceeded", message);
    }
    let completions = tally.completions;
    if tally.failed_indexes.len() > 0
        && Some(tally.failed_indexes.len() + tally.completed.len()) == completions
    {
        return failure("FailedIndexes", "Job has failed indexes");
    }
    let complete = match completions {
        Some(completions) => tally.done() >= completions,
        // Without a number, the pods agree among themselves when the work is done.
        None => tally.done() > 0 && tally.active.is_empty(),
    };
    let message = "Reached expected number of succeeded pods".to_owned();
    complete.then_some(End::Success { reason: "CompletionsReached", message })
}

fn condition((kind, status): (&str, &str), reason: &str, message: &str, now: &str) -> Value {
    json!({"type": kind, "status": status, "reason": reason, "message": message, "lastProbeTime": now})
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
