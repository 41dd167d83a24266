use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use tokio::sync::watch;

use super::{BuiltInController, World, state::Task};
use crate::{gc::Place, registry::Resource, store::Stored};

/// How long an Event is kept after its last write.
const EVENT_TTL: Duration = Duration::from_secs(3600);

/// Tasks that wait for their time, each for one time only. Times are those of the server's clock since its start.
#[derive(Debug)]
pub(super) struct Timers {
    times: BTreeMap<Task, Duration>,
    order: BTreeSet<(Duration, Task)>,
    next: watch::Sender<Option<Duration>>,
}

impl Timers {
    pub(super) fn new() -> Self {
        Self { times: BTreeMap::new(), order: BTreeSet::new(), next: watch::Sender::new(None) }
    }

    /// Lets a task wait until `at`, whatever it waited for before.
    pub(super) fn set(&mut self, task: Task, at: Duration) {
        if let Some(before) = self.times.insert(task.clone(), at) {
            self.order.remove(&(before, task.clone()));
        }
        self.order.insert((at, task));
        self.tell();
    }

    pub(super) fn cancel(&mut self, task: Task) {
        if let Some(at) = self.times.remove(&task) {
            self.order.remove(&(at, task));
            self.tell();
        }
    }

    pub(super) fn clear(&mut self) {
        self.times.clear();
        self.order.clear();
        self.tell();
    }

    /// Takes the tasks whose time has come.
    fn due(&mut self, now: Duration) -> Vec<Task> {
        let mut due = Vec::new();
        while self.order.first().is_some_and(|(at, _)| *at <= now) {
            let Some((_, task)) = self.order.pop_first() else { break };
            self.times.remove(&task);
            due.push(task);
        }
        self.tell();
        due
    }

    /// Whoever waits need only know when the first is due.
    fn tell(&self) {
        let first = self.order.first().map(|(at, _)| *at);
        self.next.send_if_modified(|next| std::mem::replace(next, first) != first);
    }
}

impl World {
    /// Does what has become due. Requests begin with it, watches wake up for it, and so does putting the clock ahead.
    pub(crate) fn catch_up(&mut self) {
        let due = self.timers.due(self.clock.elapsed());
        if !due.is_empty() {
            self.tasks.extend(due);
            self.settle();
        }
    }

    /// When [`catch_up`](Self::catch_up) has something to do next.
    pub(crate) fn next_due(&self) -> watch::Receiver<Option<Duration>> {
        self.timers.next.subscribe()
    }

    /// Comes back to a task after so many seconds, at least one.
    pub(super) fn again_after(&mut self, task: Task, seconds: u64) {
        let at = self.clock.elapsed().saturating_add(Duration::from_secs(seconds.max(1)));
        self.timers.set(task, at);
    }

    /// Events are forgotten after a while; every write begins that anew.
    pub(super) fn note_event(&mut self, resource: &Resource, stored: &Stored, gone: bool) {
        if resource.plural != "events" || resource.custom {
            return;
        }
        let task = Task::Forget((resource.table, stored.key.clone()));
        match gone {
            true => self.timers.cancel(task),
            false => self.again_after(task, EVENT_TTL.as_secs()),
        }
    }

    /// What controllers were waiting for when a state was saved is not in it: they look again a second after it was taken over.
    pub(super) fn note_taken_over(&mut self, resource: &Resource, stored: &Stored) {
        if self.settings.off.contains(&BuiltInController::Workloads) {
            return;
        }
        let place = (resource.table, stored.key.clone());
        match (resource.group.as_str(), resource.plural.as_str()) {
            ("batch", "jobs") => self.again_after(Task::Job(place), 1),
            ("apps", "deployments") => self.again_after(Task::Deployment(place), 1),
            _ => {}
        }
    }

    pub(super) fn forget(&mut self, (table, key): &Place) {
        if let Some(resource) = self.registry.by_table(*table).cloned() {
            self.remove(&resource, key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_come_in_the_order_of_their_times_and_once() {
        let (mut timers, second) = (Timers::new(), Duration::from_secs);
        let (one, other) = (Task::Budgets("a".into()), Task::Budgets("b".into()));
        timers.set(one.clone(), second(5));
        timers.set(other.clone(), second(3));
        timers.set(one.clone(), second(2));
        assert_eq!(*timers.next.borrow(), Some(second(2)));
        assert_eq!(timers.due(second(1)), []);
        assert_eq!(timers.due(second(9)), [one.clone(), other]);
        assert_eq!((timers.due(second(99)), *timers.next.borrow()), (vec![], None));
        timers.set(one.clone(), second(1));
        timers.cancel(one);
        assert!(timers.times.is_empty() && timers.order.is_empty());
    }
}
