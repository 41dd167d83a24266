//! The tasks that controllers have to do, now and later.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use jiff::Timestamp;
use tokio::sync::watch;

use super::{
    BuiltInController,
    claims::ClaimIndex,
    owners::{FOREGROUND, ORPHAN, OwnerIndex},
    remaining::Remaining,
    task::Task,
    timers::Timers,
    workloads::WorkloadCaches,
};
use crate::{
    clock::Clock,
    crd,
    object::{event::written_at, meta},
    rbac::RBAC,
    scheme::Resource,
    storage::{Change, EventType, Storage, Stored},
};

/// Time to live of an Event after its last write.
const EVENT_TTL: Duration = Duration::from_secs(3600);

/// What the built-in controllers have to do, now and later. Each change enqueues the tasks that follow from it.
#[derive(Debug)]
pub(super) struct Work {
    disabled: BTreeSet<BuiltInController>,
    delays: BTreeMap<BuiltInController, Duration>,
    clock: Clock,
    tasks: BTreeSet<Task>,
    timers: Timers,
    pub(super) owners: OwnerIndex,
    pub(super) remaining: Remaining,
    pub(super) claims: ClaimIndex,
    pub(super) caches: WorkloadCaches,
}

impl Work {
    pub(super) fn new(
        disabled: BTreeSet<BuiltInController>,
        delays: BTreeMap<BuiltInController, Duration>,
        clock: Clock,
    ) -> Self {
        let (tasks, timers) = (BTreeSet::new(), Timers::new());
        let (owners, remaining, claims, caches) = <_>::default();
        Self { disabled, delays, clock, tasks, timers, owners, remaining, claims, caches }
    }

    /// Drops everything, before the whole state is replaced.
    pub(super) fn clear(&mut self) {
        self.tasks.clear();
        self.timers.clear();
        self.owners = OwnerIndex::default();
        self.remaining = Remaining::default();
        self.claims = ClaimIndex::default();
        self.caches = WorkloadCaches::default();
    }

    pub(super) fn is_enabled(&self, controller: BuiltInController) -> bool {
        !self.disabled.contains(&controller)
    }

    /// Enqueues a task: at once, or after the delay of its controller.
    pub(super) fn enqueue(&mut self, task: Task) {
        match self.delays.iter().find(|(controller, _)| controller.performs(&task)) {
            Some((_, delay)) => {
                let at = self.clock.elapsed().saturating_add(*delay);
                self.timers.set_before(task, at);
            }
            None => drop(self.tasks.insert(task)),
        }
    }

    /// Enqueues a task again that could not be done.
    pub(super) fn retry(&mut self, task: Task) {
        self.tasks.insert(task);
    }

    /// Enqueues a task after this many seconds, at least one.
    pub(super) fn enqueue_after(&mut self, task: Task, seconds: u64) {
        self.enqueue_at(task, self.clock.elapsed().saturating_add(Duration::from_secs(seconds.max(1))));
    }

    /// Enqueues a task at this time of the clock.
    pub(super) fn enqueue_at(&mut self, task: Task, at: Duration) {
        self.timers.set(task, at);
    }

    /// Enqueues the tasks that are due.
    pub(super) fn enqueue_due(&mut self) {
        let due = self.timers.due(self.clock.elapsed());
        self.tasks.extend(due);
    }

    /// When [`enqueue_due`](Self::enqueue_due) has something to do next.
    pub(super) fn next_due(&self) -> watch::Receiver<Option<Duration>> {
        self.timers.next.subscribe()
    }

    /// Removes and returns the next task of an enabled controller.
    pub(super) fn next(&mut self) -> Option<Task> {
        loop {
            let task = self.tasks.pop_first()?;
            if !self.disabled.iter().any(|controller| controller.performs(&task)) {
                return Some(task);
            }
        }
    }

    /// Removes a task that has become unnecessary.
    pub(super) fn cancel(&mut self, task: &Task) {
        self.tasks.remove(task);
    }

    /// Enqueues the tasks that follow from a change.
    pub(super) fn observe(&mut self, storage: &Storage, resource: &Resource, change: &Change) {
        let (before, after) = (change.previous.as_deref(), change.after());
        self.owners.record(resource.table, before, after);
        if self.remaining.record(resource, before, after)
            && let Some(namespace) = change.object.key.namespace()
        {
            self.enqueue(Task::FinishNamespace(namespace.into()));
        }
        self.enqueue_common(resource, &change.object);
        match after {
            Some(after) => self.observe_written(storage, resource, before, after),
            None => self.observe_removed(storage, resource, &change.object),
        }
    }

    fn observe_written(
        &mut self,
        storage: &Storage,
        resource: &Resource,
        before: Option<&Stored>,
        after: &Stored,
    ) {
        if !after.owners.is_empty() && before.is_none_or(|before| before.owners != after.owners) {
            self.enqueue(Task::CheckOwners((resource.table, after.key.clone())));
        }
        // Owners whose deletion the object no longer blocks.
        let blocked = before.map_or(&[][..], |before| &before.owners);
        for owner in blocked.iter().filter(|owner| owner.blocks_deletion && !after.owners.contains(owner)) {
            self.enqueue(Task::FinishForeground(owner.uid.clone()));
        }
        self.enqueue_controllers(storage, resource, before, after);
    }

    fn observe_removed(&mut self, storage: &Storage, resource: &Resource, last: &Stored) {
        for dependent in self.owners.dependents(&last.uid) {
            self.enqueue(Task::CheckOwners(dependent));
        }
        for owner in &last.owners {
            self.enqueue(Task::FinishForeground(owner.uid.clone()));
        }
        if let Some(namespace) = last.key.namespace() {
            self.enqueue(Task::FinishNamespace(namespace.into()));
        }
        if resource.is("", "namespaces") {
            self.remaining.stop(last.key.name());
        }
        self.observe_workload(storage, resource, Some(last), None);
        if resource.is("", "pods")
            && let Some(claims) = storage.table("", "persistentvolumeclaims")
        {
            for claim in self.claims.remove(last) {
                self.enqueue(Task::FreeStorage((claims, claim)));
            }
        }
        if is_storage(resource) {
            self.enqueue_class(storage, &last.value());
        }
        if resource.custom {
            self.enqueue(Task::FinishResource(resource.table));
        }
    }

    /// Enqueues what the controllers have to look at when they start with this object: tasks and timers are not part of a saved state.
    pub(super) fn resume(&mut self, storage: &Storage, resource: &Resource, stored: &Stored) {
        if !stored.owners.is_empty() {
            self.enqueue(Task::CheckOwners((resource.table, stored.key.clone())));
        }
        if stored.deleting {
            self.start_deletion(storage, resource, stored);
        }
        self.enqueue_common(resource, stored);
        if is_event(resource) {
            // Its time to live goes on.
            let written = written_at(&stored.value()).unwrap_or(Timestamp::MIN);
            let age = self.clock.timestamp().duration_since(written);
            let left = EVENT_TTL.saturating_sub(Duration::try_from(age).unwrap_or_default());
            self.enqueue_at(expiry(resource, stored), self.clock.elapsed().saturating_add(left));
        }
        self.enqueue_controllers(storage, resource, None, stored);
    }

    /// Starts the server's own part of a deletion: garbage collection, and emptying namespaces and CRDs.
    pub(super) fn start_deletion(&mut self, storage: &Storage, resource: &Resource, stored: &Stored) {
        let object = stored.value();
        let finalizers = meta::strings(&object, "finalizers");
        if finalizers.contains(&ORPHAN) {
            self.enqueue(Task::OrphanDependents((resource.table, stored.key.clone())));
        } else if finalizers.contains(&FOREGROUND) {
            for dependent in self.owners.dependents(&stored.uid) {
                self.enqueue(Task::CheckOwners(dependent));
            }
            self.enqueue(Task::FinishForeground(stored.uid.to_string()));
        }
        if is_storage(resource) || resource.is("storage.k8s.io", "volumeattributesclasses") {
            self.enqueue(Task::FreeStorage((resource.table, stored.key.clone())));
        }
        if resource.is("", "namespaces") {
            self.enqueue(Task::EmptyNamespace(stored.key.name().into()));
        }
        if let Some(table) = storage.defined_by(&object).map(|defined| defined.table)
            && finalizers.contains(&crd::CLEANUP)
        {
            self.enqueue(Task::EmptyResource(table));
        }
    }

    /// Enqueues the kubelet and the workload controllers for a written object.
    fn enqueue_controllers(
        &mut self,
        storage: &Storage,
        resource: &Resource,
        before: Option<&Stored>,
        stored: &Stored,
    ) {
        if resource.is("", "pods") {
            self.enqueue(Task::RunPod((resource.table, stored.key.clone())));
            if before.is_none() {
                self.claims.add(stored);
            }
        }
        self.observe_workload(storage, resource, before, Some(stored));
    }

    /// Enqueues what any change of an object is followed by.
    fn enqueue_common(&mut self, resource: &Resource, stored: &Stored) {
        if resource.is(RBAC, "clusterroles") {
            self.enqueue(Task::AggregateRoles);
        }
        self.enqueue_service_account(resource, &stored.key);
        if is_event(resource) {
            let task = expiry(resource, stored);
            match stored.event {
                EventType::Deleted => self.timers.cancel(task),
                // Every write restarts its time to live.
                EventType::Added | EventType::Modified => self.enqueue_after(task, EVENT_TTL.as_secs()),
            }
        }
    }
}

fn is_event(resource: &Resource) -> bool {
    resource.plural == "events" && !resource.custom
}

fn expiry(resource: &Resource, event: &Stored) -> Task {
    Task::ExpireEvent((resource.table, event.key.clone()))
}

fn is_storage(resource: &Resource) -> bool {
    resource.is("", "persistentvolumeclaims") || resource.is("", "persistentvolumes")
}
