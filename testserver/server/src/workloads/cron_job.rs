//! CronJob: starts a Job at each time of its schedule, and deletes old ones.

use jiff::{SignedDuration, Timestamp, tz::TimeZone};
use serde_json::{Value, json};

use super::{job::finished, template::controller_reference};
use crate::{
    clock::time,
    object::{
        event::Note,
        meta,
        schedule::{Schedule, time_zone},
    },
};

const SCHEDULED_AT: &str = "batch.kubernetes.io/cronjob-scheduled-timestamp";
/// More missed times than these are worth a warning.
const MANY: usize = 100;

/// The next actions for a CronJob.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct CronPlan {
    /// The Job of the time that has come.
    pub(crate) create: Option<Value>,
    /// Indexes in the list of Jobs.
    pub(crate) delete: Vec<usize>,
    /// Seconds until the next time.
    pub(crate) requeue_after: Option<u64>,
    pub(crate) status: Value,
    pub(crate) notes: Vec<Note>,
}

/// Plans a CronJob; `jobs` are all that it owns.
pub(crate) fn plan_cron_job(cron: &Value, jobs: &[Value], now: Timestamp) -> CronPlan {
    let mut plan = CronPlan { status: cron["status"].clone(), ..CronPlan::default() };
    if !plan.status.is_object() {
        plan.status = json!({});
    }
    let mut active: Vec<Value> = cron["status"]["active"].as_array().cloned().unwrap_or_default();
    plan.forget_finished(jobs, &mut active);
    plan.warn_of_unexpected(jobs, &active);
    plan.delete = surplus_jobs(cron, jobs, &mut plan.notes);
    if !meta::is_deleting(cron) && cron["spec"]["suspend"] != true {
        plan.start(cron, jobs, &mut active, now);
    }
    if active.is_empty() {
        plan.status.as_object_mut().map(|status| status.remove("active"));
    } else {
        plan.status["active"] = active.into();
    }
    plan
}

/// The reference to a Job that was started.
pub(crate) fn active_reference(job: &Value) -> Value {
    let metadata = &job["metadata"];
    json!({"apiVersion": "batch/v1", "kind": "Job", "name": metadata["name"], "namespace": metadata["namespace"],
        "resourceVersion": metadata["resourceVersion"], "uid": metadata["uid"]})
}

impl CronPlan {
    /// Leaves the time that has come to the next attempt.
    pub(crate) fn postpone(&mut self, cron: &Value) {
        let Some(status) = self.status.as_object_mut() else { return };
        match cron["status"].get("lastScheduleTime") {
            Some(last) => drop(status.insert("lastScheduleTime".into(), last.clone())),
            None => drop(status.remove("lastScheduleTime")),
        }
    }

    fn warn_of_unexpected(&mut self, jobs: &[Value], active: &[Value]) {
        let listed = |job: &&Value| active.iter().any(|reference| reference["uid"] == job["metadata"]["uid"]);
        let running = jobs.iter().filter(|job| finished(job).is_none() && !meta::is_deleting(job));
        self.notes.extend(running.filter(|job| !listed(job)).map(|job| {
            let name = meta::name(job);
            let why = format!("Saw a job that the controller did not create or forgot: {name}");
            Note::warning("UnexpectedJob", why)
        }));
    }

    /// Drops the references to Jobs that have finished or are gone.
    fn forget_finished(&mut self, jobs: &[Value], active: &mut Vec<Value>) {
        for job in jobs {
            let Some(end) = finished(job) else { continue };
            let before = active.len();
            active.retain(|reference| reference["uid"] != job["metadata"]["uid"]);
            if active.len() < before {
                let name = meta::name(job);
                self.note("SawCompletedJob", format!("Saw completed job: {name}, condition: {end}"));
            }
            let (ended, last) = (&job["status"]["completionTime"], &self.status["lastSuccessfulTime"]);
            if end == "Complete" && ended.as_str() > last.as_str() {
                self.status["lastSuccessfulTime"] = ended.clone();
            }
        }
        let exists = |reference: &Value| jobs.iter().any(|job| job["metadata"]["uid"] == reference["uid"]);
        let (here, gone): (Vec<Value>, Vec<Value>) = active.drain(..).partition(exists);
        *active = here;
        for reference in gone {
            let name = reference["name"].as_str().unwrap_or_default();
            self.note("MissingJob", format!("Active job went missing: {name}"));
        }
    }

    /// Starts the Job of the last time that has come, unless it is too late or another one runs.
    fn start(&mut self, cron: &Value, jobs: &[Value], active: &mut Vec<Value>, now: Timestamp) {
        let spec = &cron["spec"];
        let zone = match spec["timeZone"].as_str().map(time_zone) {
            None => TimeZone::UTC,
            Some(Some(zone)) => zone,
            Some(None) => return,
        };
        let text = spec["schedule"].as_str().unwrap_or_default();
        let Ok(schedule) = Schedule::parse(text) else { return };
        let last = time(&cron["status"]["lastScheduleTime"]);
        let from = last.or_else(|| time(&cron["metadata"]["creationTimestamp"])).unwrap_or(now);
        let next = schedule.next_from(from, now, &zone);
        let seconds = next.map(|next| next.as_second() - now.as_second());
        self.requeue_after = seconds.and_then(|seconds| u64::try_from(seconds).ok());
        let deadline = spec["startingDeadlineSeconds"].as_i64().map(SignedDuration::from_secs);
        let oldest = deadline.and_then(|deadline| now.checked_sub(deadline).ok()).unwrap_or(Timestamp::MIN);
        let due = schedule.last(from, now, &zone).filter(|due| *due > oldest);
        let Some(due) = due else { return };
        if schedule.times(from.max(oldest), &zone).take(MANY + 1).filter(|time| *time <= now).count() > MANY {
            let why = "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew";
            self.notes.push(Note::warning("TooManyMissedTimes", why));
        }
        match spec["concurrencyPolicy"].as_str() {
            Some("Forbid") if !active.is_empty() => {
                let why =
                    "Not starting job because prior execution is running and concurrency policy is Forbid";
                return self.note("JobAlreadyActive", why.into());
            }
            Some("Replace") => {
                for reference in active.drain(..) {
                    let uid = &reference["uid"];
                    self.delete.extend(jobs.iter().position(|job| job["metadata"]["uid"] == *uid));
                    let name = reference["name"].as_str().unwrap_or_default();
                    self.note("SuccessfulDelete", format!("Deleted job {name}"));
                }
            }
            _ => {}
        }
        self.create = Some(job_of_cron(cron, due, &zone));
        self.status["lastScheduleTime"] = due.strftime("%Y-%m-%dT%H:%M:%SZ").to_string().into();
    }

    fn note(&mut self, reason: &'static str, message: String) {
        self.notes.push(Note::normal(reason, message));
    }
}

/// The finished Jobs beyond the limits, the oldest first.
fn surplus_jobs(cron: &Value, jobs: &[Value], notes: &mut Vec<Note>) -> Vec<usize> {
    let mut surplus = Vec::new();
    for (limit, end) in [("successfulJobsHistoryLimit", "Complete"), ("failedJobsHistoryLimit", "Failed")] {
        let Some(keep) = cron["spec"][limit].as_u64().and_then(|keep| usize::try_from(keep).ok()) else {
            continue;
        };
        let of_end = |at: &usize| finished(&jobs[*at]) == Some(end) && !meta::is_deleting(&jobs[*at]);
        let mut old: Vec<usize> = (0..jobs.len()).filter(of_end).collect();
        old.sort_by_key(|at| (jobs[*at]["status"]["startTime"].as_str(), meta::name(&jobs[*at])));
        old.truncate(old.len().saturating_sub(keep));
        for at in &old {
            notes.push(Note::normal("SuccessfulDelete", format!("Deleted job {}", meta::name(&jobs[*at]))));
        }
        surplus.extend(old);
    }
    surplus
}

/// The Job of a time, named after its minute: a second one cannot be created.
fn job_of_cron(cron: &Value, at: Timestamp, zone: &TimeZone) -> Value {
    let template = &cron["spec"]["jobTemplate"];
    let local = at.to_zoned(zone.clone());
    let utc = local.offset().is_zero();
    let text = local.strftime(if utc { "%Y-%m-%dT%H:%M:%SZ" } else { "%Y-%m-%dT%H:%M:%S%:z" }).to_string();
    let mut annotations = template["metadata"]["annotations"].as_object().cloned().unwrap_or_default();
    annotations.insert(SCHEDULED_AT.into(), text.into());
    json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": format!("{}-{}", meta::name(cron), at.as_second() / 60),
            "namespace": cron["metadata"]["namespace"],
            "labels": template["metadata"]["labels"].as_object().cloned().unwrap_or_default(),
            "annotations": annotations,
            "ownerReferences": [controller_reference(cron)],
        },
        "spec": template["spec"],
    })
}

#[cfg(test)]
#[path = "cron_job_tests.rs"]
mod tests;
