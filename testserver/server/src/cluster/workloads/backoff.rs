//! When a refused write is tried again: ever later, as the work queues of Kubernetes' controllers do.

use std::{collections::BTreeMap, time::Duration};

use super::WorkloadTask;

/// The first wait, which doubles with each refusal. Kubernetes begins with 5 ms. Here a change of the state is made within a request, and
/// timestamps are whole seconds.
const FIRST: Duration = Duration::from_secs(1);
/// As in Kubernetes.
const LONGEST: Duration = Duration::from_secs(1000);

/// The tasks whose last write was refused.
#[derive(Debug, Default)]
pub(super) struct Backoff(BTreeMap<WorkloadTask, Refusals>);

#[derive(Debug, Default)]
struct Refusals {
    count: u32,
    /// The time of the next attempt.
    next: Duration,
}

impl Backoff {
    /// When a task that was refused `now` runs again. A refusal before the time of the next attempt does not postpone that.
    pub(super) fn refused(&mut self, task: &WorkloadTask, now: Duration) -> Duration {
        let refusals = self.0.entry(task.clone()).or_default();
        if refusals.next <= now {
            let wait = FIRST.saturating_mul(2_u32.saturating_pow(refusals.count)).min(LONGEST);
            *refusals = Refusals { count: refusals.count + 1, next: now.saturating_add(wait) };
        }
        refusals.next
    }

    /// Forgets the refusals of a task: it succeeded, or what it is about is gone.
    pub(super) fn forget(&mut self, task: &WorkloadTask) {
        self.0.remove(task);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::Key;

    #[test]
    fn waits_double_up_to_the_longest_and_begin_anew_after_a_success() {
        let (mut backoff, second) = (Backoff::default(), Duration::from_secs);
        let [task, other] = ["a", "b"].map(|name| WorkloadTask::Endpoints(Key::new(None, name)));
        let mut now = second(7);
        let mut wait = |backoff: &mut Backoff| {
            let before = now;
            assert_eq!(backoff.refused(&task, now), backoff.refused(&task, now), "once at a time");
            now = backoff.refused(&task, now);
            (now - before).as_secs()
        };
        let waits: Vec<u64> = (0..40).map(|_| wait(&mut backoff)).collect();
        assert_eq!(waits[..12], [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000, 1000]);
        assert_eq!(waits[39], 1000);
        assert_eq!(backoff.refused(&other, second(9)), second(10));
        backoff.forget(&task);
        assert_eq!(wait(&mut backoff), 1);
    }
}
