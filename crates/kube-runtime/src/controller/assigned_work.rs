//! The work that runs under the assignments of one assigner, for those that wait until it has ended.
//!
//! It does not matter who polls the outputs of controllers: work is registered before it starts, and its registration ends with it.

use crate::{
    capacity::release,
    delay::{after, until},
    reflector::ObjectKey,
};
use hashbrown::HashMap;
use parking_lot::Mutex;
use std::{pin::pin, sync::Arc, time::Duration};
use tokio::{sync::Notify, time::Instant};

/// How often a wait without a limit says what it waits for.
const REPORT_EVERY: Duration = Duration::from_secs(30);
/// How long cancelled work may take to end: until its next `await`.
const CANCELLATION: Duration = Duration::from_millis(100);
/// How many keys a report names.
const MAX_NAMED: usize = 5;

/// The running work.
#[derive(Debug, Default)]
pub(super) struct AssignedWork {
    running: Mutex<Running>,
    ended: Notify,
}

#[derive(Debug, Default)]
struct Running {
    next: u64,
    keys: HashMap<u64, Arc<ObjectKey>>,
}

/// Work that is running until this is dropped.
#[derive(Debug)]
pub(super) struct RunningWork {
    all: Arc<AssignedWork>,
    id: u64,
}

impl AssignedWork {
    pub(super) fn begin(self: &Arc<Self>, key: Arc<ObjectKey>) -> RunningWork {
        let mut running = self.running.lock();
        let id = running.next;
        running.next += 1;
        running.keys.insert(id, key);
        RunningWork { all: Arc::clone(self), id }
    }

    /// What runs now.
    pub(super) fn snapshot(&self) -> Vec<(u64, Arc<ObjectKey>)> {
        self.running.lock().keys.iter().map(|(id, key)| (*id, Arc::clone(key))).collect()
    }

    /// Waits until all of this work has ended, at most until `limit`, when it is cancelled.
    pub(super) async fn wait(&self, mut work: Vec<(u64, Arc<ObjectKey>)>, limit: Option<Instant>) {
        let began = Instant::now();
        let limit = limit.map(|limit| after(limit.max(began), CANCELLATION));
        let (mut limit, mut report) = (pin!(until(limit)), after(began, REPORT_EVERY));
        loop {
            let mut ended = pin!(self.ended.notified());
            ended.as_mut().enable(); // before the look at what runs
            // Whatever ends, only the last one is looked at, so that a wait costs O(1) per end.
            while work.last().is_some_and(|(id, _)| !self.is_running(*id)) {
                work.pop();
            }
            if work.is_empty() {
                return;
            }
            tokio::select! {
                () = ended => {}
                () = &mut limit => {
                    work.retain(|(id, _)| self.is_running(*id));
                    let objects = names(&work);
                    tracing::warn!(objects, "work could not be cancelled that is not assigned any more");
                    return;
                }
                () = until(Some(report)) => {
                    report = after(report, REPORT_EVERY);
                    work.retain(|(id, _)| self.is_running(*id));
                    let (objects, waited) = (names(&work), began.elapsed());
                    tracing::warn!(
                        objects,
                        ?waited,
                        "other replicas wait for reconciles that still run here: a timeout of the controller limits that"
                    );
                }
            }
        }
    }

    fn is_running(&self, id: u64) -> bool {
        self.running.lock().keys.contains_key(&id)
    }
}

impl Drop for RunningWork {
    fn drop(&mut self) {
        let mut running = self.all.running.lock();
        let ended = running.keys.remove(&self.id);
        release(&mut running.keys);
        drop(running);
        drop(ended);
        self.all.ended.notify_waiters();
    }
}

/// The first keys, and the number of the others.
fn names(work: &[(u64, Arc<ObjectKey>)]) -> String {
    let mut names: Vec<String> = work.iter().take(MAX_NAMED).map(|(_, key)| key.to_string()).collect();
    if work.len() > MAX_NAMED {
        names.push(format!("{} others", work.len() - MAX_NAMED));
    }
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_that_has_ended_takes_little_memory() {
        let (all, key) = (Arc::default(), Arc::new(ObjectKey { namespace: None, name: "a".into() }));
        let memory = allocation_counter::measure(|| {
            let running: Vec<_> = (0..10_000).map(|_| AssignedWork::begin(&all, Arc::clone(&key))).collect();
            assert_eq!(all.snapshot().len(), 10_000);
            drop(running);
        });
        assert!(memory.bytes_current < 10_000, "{memory:?}");
    }
}
