use std::time::Duration;

use tokio::sync::watch;

use super::{ClusterState, task::Task};
use crate::{gc::ObjectId, journal::WriteError, scheme::Resource, store::Stored};

/// Time to live of an Event after its last write.
const EVENT_TTL: Duration = Duration::from_secs(3600);

impl ClusterState {
    /// Runs the tasks that are due. Requests, watches and clock changes call this.
    pub(crate) fn run_due_tasks(&mut self) {
        let due = self.timers.due(self.clock.elapsed());
        self.tasks.extend(due);
        // Also those that stayed enqueued when a write was refused.
        self.run_tasks();
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

    /// Enqueues what the controllers have to look at when they start with this object: tasks and timers are not part of a saved state.
    pub(super) fn resume(&mut self, resource: &Resource, stored: &Stored) {
        if !stored.owners.is_empty() {
            self.enqueue(Task::CheckOwners((resource.table, stored.key.clone())));
        }
        if stored.deleting {
            self.start_deletion(resource, stored, &stored.value());
        }
        self.on_rbac_change(resource);
        self.enqueue_workload(resource, stored);
        self.enqueue_service_account(resource, &stored.key);
        self.schedule_event_expiry(resource, stored, false);
    }

    pub(super) fn expire_event(&mut self, (table, key): &ObjectId) -> Result<(), WriteError> {
        if let Some(resource) = self.scheme.by_table(*table).cloned() {
            self.remove(&resource, key)?;
        }
        Ok(())
    }
}
