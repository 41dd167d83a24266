//! Runs the controller of CronJobs.

use serde_json::Value;

use super::WorkloadTask;
use crate::{
    cluster::{ClusterState, create::Created, owners::ObjectId},
    object::{event::Note, meta},
    route::Propagation,
    storage::{Key, WriteError},
    workloads::{active_reference, controls, plan_cron_job},
};

impl ClusterState {
    pub(super) fn reconcile_cron_job(&mut self, id: &ObjectId) -> Result<(), WriteError> {
        let Some((resource, cron)) = self.reconciled(id) else { return Ok(()) };
        let Some(job_resource) = self.storage.resource("batch", "jobs") else { return Ok(()) };
        let (keys, jobs) = self.owned(&cron, &job_resource);
        let mut plan = plan_cron_job(&cron, &jobs, self.clock.timestamp());
        if let Some(seconds) = plan.requeue_after {
            self.work.enqueue_after(WorkloadTask::CronJob(id.clone()).into(), seconds);
        }
        for at in std::mem::take(&mut plan.delete) {
            self.delete(&job_resource, &keys[at], Some(Propagation::Background))?;
        }
        if let Some(job) = plan.create.take() {
            let key = Key::new(meta::text(&job, "namespace"), meta::name(&job));
            match self.create("batch", "jobs", job)? {
                Created::Stored(job) => {
                    let job = job.value();
                    let started = active_reference(&job);
                    match plan.status["active"].as_array_mut() {
                        Some(active) => active.push(started),
                        None => plan.status["active"] = vec![started].into(),
                    }
                    let message = format!("Created job {}", meta::name(&job));
                    plan.notes.push(Note::normal("SuccessfulCreate", message));
                }
                // Two times of a minute share a Job.
                Created::Exists if self.runs_job(&cron, &key) => {}
                Created::Exists => {
                    plan.postpone(&cron);
                    self.retry(WorkloadTask::CronJob(id.clone()));
                }
                Created::Terminating => {}
                Created::Refused(why) => {
                    plan.postpone(&cron);
                    plan.notes.push(Note::warning("FailedCreate", format!("Error creating job: {why}")));
                    self.retry(WorkloadTask::CronJob(id.clone()));
                }
            }
        }
        self.write_status(&resource, &id.1, &cron, plan.status)?;
        self.record(&cron, plan.notes)
    }

    /// Whether a CronJob has a Job of this name that it does not delete.
    fn runs_job(&self, cron: &Value, key: &Key) -> bool {
        let job = self.storage.table("batch", "jobs").and_then(|jobs| self.storage.store.get(jobs, key));
        job.map(|job| job.value()).is_some_and(|job| controls(cron, &job) && !meta::is_deleting(&job))
    }
}
