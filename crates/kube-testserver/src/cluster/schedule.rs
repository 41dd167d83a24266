use std::time::Duration;

use tokio::sync::watch;

use super::{BuiltInController, ClusterState, task::Task};
use crate::{gc::ObjectId, scheme::Resource, store::Stored};

/// Time to live of an Event after its last write.
const EVENT_TTL: Duration = Duration::from_secs(3600);

impl ClusterState {
    /// Runs the tasks that are due. Requests, watches and clock changes call this.
    pub(crate) fn run_due_tasks(&mut self) {
        let due = self.timers.due(self.clock.elapsed());
        if !due.is_empty() {
            self.tasks.extend(due);
            self.run_tasks();
        }
    }

    /// When [`run_due_tasks`](Self::run_due_tasks) has something to do next.
    pub(crate) fn next_due(&self) -> watch::Receiver<Option<Duration>> {
        self.timers.next.subscribe()
    }

    /// Enqueues a task after this many seconds, at least one.
    pub(super) fn enqueue_after(&mut self, task: Task, seconds: u64) {
        let at = self.clock.elapsed().saturating_add(Duration::from_secs(seconds.max(1)));
        self.timers.set(task, at);
    }

    /// Every write of an Event restarts its time to live.
    pub(super) fn schedule_event_expiry(&mut self, resource: &Resource, stored: &Stored, gone: bool) {
        if resource.plural != "events" || resource.custom {
            return;
        }
        let task = Task::ExpireEvent((resource.table, stored.key.clone()));
        match gone {
            true => self.timers.cancel(task),
            false => self.enqueue_after(task, EVENT_TTL.as_secs()),
        }
    }

    /// Timers are not part of a saved state: Jobs and Deployments are reconciled one second after it is restored.
    pub(super) fn requeue_restored(&mut self, resource: &Resource, stored: &Stored) {
        if self.settings.disabled.contains(&BuiltInController::Workloads) {
            return;
        }
        let id = (resource.table, stored.key.clone());
        match (resource.group.as_str(), resource.plural.as_str()) {
            ("batch", "jobs") => self.enqueue_after(Task::Job(id), 1),
            ("apps", "deployments") => self.enqueue_after(Task::Deployment(id), 1),
            _ => {}
        }
    }

    pub(super) fn expire_event(&mut self, (table, key): &ObjectId) {
        if let Some(resource) = self.scheme.by_table(*table).cloned() {
            self.remove(&resource, key);
        }
    }
}
