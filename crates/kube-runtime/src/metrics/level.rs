//! A gauge of a number that one controller has, or several have together.

use metrics::Gauge;
use std::sync::atomic::{AtomicU64, Ordering};

/// The gauge of a number. Controllers that share it add up.
pub(super) struct Level {
    gauge: Gauge,
    /// What this controller has added, if it shares the gauge. Whole numbers, so that sums are exact.
    added: Option<AtomicU64>,
}

impl Level {
    pub(super) fn new(gauge: Gauge, is_shared: bool) -> Self {
        let level = Self { gauge, added: is_shared.then(AtomicU64::default) };
        level.gauge.increment(0.0); // so that it is exported
        level
    }

    /// The number is `value` now.
    pub(super) fn set(&self, value: usize) {
        match &self.added {
            None => self.gauge.set(value as f64),
            Some(added) => {
                let before = added.swap(value as u64, Ordering::Relaxed);
                self.gauge.increment(value as f64 - before as f64);
            }
        }
    }

    pub(super) fn increment(&self) {
        if let Some(added) = &self.added {
            added.fetch_add(1, Ordering::Relaxed);
        }
        self.gauge.increment(1.0);
    }

    pub(super) fn decrement(&self) {
        if let Some(added) = &self.added {
            added.fetch_sub(1, Ordering::Relaxed);
        }
        self.gauge.decrement(1.0);
    }
}
