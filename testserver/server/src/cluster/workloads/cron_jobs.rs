//! Runs the controller of CronJobs.

use serde_json::Value;

use super::{adoption::controls, task::Requeue};
use crate::{
    cluster::{ClusterState, create::Created, owners::ObjectId},
    object::{event::Note, meta},
    route::Propagation,
    storage::{Key, WriteError},
    workloads::{active_reference, plan_cron_job},
};

impl ClusterState {
    pub(super) fn reconcile_cron_job(&mut self, id: &ObjectId) -> Result<Requeue, WriteError> {
        let Some((resource, cron)) = self.storage.read(id.0, &id.1) else { return Ok(Requeue::default()) };
        let Some(job_resource) = self.storage.resource("batch", "jobs") else {
            return Ok(Requeue::default());
        };
        let stored = self.owned(&cron, &job_resource);
        let jobs: Vec<Value> = stored.iter().map(|stored| stored.value()).collect();
        let mut plan = plan_cron_job(&cron, &jobs, self.clock.timestamp());
        let mut refused = false;
        for at in std::mem::take(&mut plan.delete) {
            self.delete(&job_resource, &stored[at].key, Some(Propagation::Background))?;
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
                    refused = true;
                }
                Created::Terminating => {}
                Created::Refused(why) => {
                    plan.postpone(&cron);
                    plan.notes.push(Note::warning("FailedCreate", format!("Error creating job: {why}")));
                    refused = true;
                }
            }
        }
        self.write_status(&resource, &id.1, &cron, plan.status)?;
        self.record(&cron, plan.notes)?;
        Ok(Requeue { after: plan.requeue_after, refused })
    }

    /// Whether a CronJob has a Job of this name that it does not delete.
    fn runs_job(&self, cron: &Value, key: &Key) -> bool {
        let uid = meta::text(cron, "uid").unwrap_or_default();
        self.storage.object("batch", "jobs", key).is_some_and(|job| controls(uid, job) && !job.deleting)
    }
}
