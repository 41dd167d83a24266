//! The objects whose last reconcile failed.

use crate::reflector::ObjectKey;
use std::{collections::VecDeque, sync::Arc};
use tokio::time::Instant;

/// How many objects are remembered.
pub(super) const CAPACITY: usize = 32;

/// The outcome of an object that cannot be decoded.
pub(super) const UNDECODABLE: &str = "undecodable";

/// The objects that failed most recently, the last failure last. Bounded; no I/O, no clock.
#[derive(Debug, Default)]
pub(super) struct Failures(VecDeque<(Arc<ObjectKey>, Failure)>);

/// The last failure of an object.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Failure {
    pub(super) at: Instant,
    pub(super) uid: Option<Box<str>>,
    pub(super) outcome: &'static str,
    pub(super) message: String,
    pub(super) attempt: u32,
    /// When it is reconciled again, if nothing changes before.
    pub(super) retry_at: Option<Instant>,
}

impl Failures {
    /// Remembers the last failure of an object, instead of that of the object that failed longest ago if there are too many.
    pub(super) fn failed(&mut self, key: Arc<ObjectKey>, failure: Failure) {
        self.forget(&key);
        if self.0.len() == CAPACITY {
            self.0.pop_front();
        }
        self.0.push_back((key, failure));
    }

    /// The object was reconciled, or is gone.
    pub(super) fn forget(&mut self, key: &ObjectKey) {
        self.0.retain(|(failed, _)| **failed != *key);
    }

    /// All of them, the most recent failure first.
    pub(super) fn latest_first(&self) -> Vec<(Arc<ObjectKey>, Failure)> {
        self.0.iter().rev().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn key(name: usize) -> Arc<ObjectKey> {
        Arc::new(ObjectKey { namespace: None, name: name.to_string().into() })
    }

    #[test]
    fn the_most_recent_failures_are_kept() {
        let (mut failures, t) = (Failures::default(), Instant::now());
        let failure = |seconds| Failure {
            at: t + Duration::from_secs(seconds),
            uid: None,
            outcome: "error",
            message: "no".into(),
            attempt: 1,
            retry_at: None,
        };
        for name in 0..40 {
            failures.failed(key(name), failure(name as u64));
        }
        failures.failed(key(8), failure(50));
        let kept = failures.latest_first();
        assert_eq!(kept.len(), CAPACITY);
        assert_eq!((&*kept[0].0.name, &*kept[1].0.name, &*kept[31].0.name), ("8", "39", "9"));
        failures.forget(&key(8));
        failures.forget(&key(8));
        assert_eq!(failures.latest_first().len(), CAPACITY - 1);
    }
}
