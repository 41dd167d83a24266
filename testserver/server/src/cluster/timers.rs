//! Tasks with a due time.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use tokio::sync::watch;

use super::task::Task;

/// Tasks with a due time, at most one each. Times are measured from the start of the server's clock.
#[derive(Debug)]
pub(super) struct Timers {
    times: BTreeMap<Task, Duration>,
    order: BTreeSet<(Duration, Task)>,
    pub(super) next: watch::Sender<Option<Duration>>,
}

impl Timers {
    pub(super) fn new() -> Self {
        Self { times: BTreeMap::new(), order: BTreeSet::new(), next: watch::Sender::new(None) }
    }

    /// Schedules a task at `at`, replacing an earlier schedule.
    pub(super) fn set(&mut self, task: Task, at: Duration) {
        if let Some(before) = self.times.insert(task.clone(), at) {
            self.order.remove(&(before, task.clone()));
        }
        self.order.insert((at, task));
        self.notify();
    }

    /// Schedules a task at `at`, unless it is due before.
    pub(super) fn set_before(&mut self, task: Task, at: Duration) {
        if self.times.get(&task).is_none_or(|before| *before > at) {
            self.set(task, at);
        }
    }

    pub(super) fn cancel(&mut self, task: Task) {
        if let Some(at) = self.times.remove(&task) {
            self.order.remove(&(at, task));
            self.notify();
        }
    }

    pub(super) fn clear(&mut self) {
        self.times.clear();
        self.order.clear();
        self.notify();
    }

    /// Removes and returns the tasks that are due.
    pub(super) fn due(&mut self, now: Duration) -> Vec<Task> {
        let mut due = Vec::new();
        while self.order.first().is_some_and(|(at, _)| *at <= now) {
            let Some((_, task)) = self.order.pop_first() else { break };
            self.times.remove(&task);
            due.push(task);
        }
        self.notify();
        due
    }

    /// Publishes when the next task is due.
    fn notify(&self) {
        let first = self.order.first().map(|(at, _)| *at);
        self.next.send_if_modified(|next| std::mem::replace(next, first) != first);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_are_due_in_order_and_once() {
        let (mut timers, second) = (Timers::new(), Duration::from_secs);
        let (one, other) = (Task::FinishNamespace("a".into()), Task::FinishNamespace("b".into()));
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
