//! The metrics of one elector.

use super::names;
use metrics::{Counter, Gauge, counter, gauge};
use std::sync::atomic::{AtomicBool, Ordering};

/// The handles of one elector.
pub(crate) struct ElectionMetrics {
    status: Gauge,
    slow_path: Counter,
    transitions: Counter,
    led: AtomicBool,
}

impl ElectionMetrics {
    pub(crate) fn new(lease: &str) -> Self {
        names::describe();
        let name = lease.to_owned();
        let metrics = Self {
            status: gauge!(names::MASTER_STATUS, "name" => name.clone()),
            slow_path: counter!(names::SLOW_PATH, "name" => name.clone()),
            transitions: counter!(names::TRANSITIONS, "name" => name),
            led: AtomicBool::new(false),
        };
        metrics.status.set(0.0);
        metrics.slow_path.increment(0);
        metrics.transitions.increment(0);
        metrics
    }

    /// Whether this process leads now.
    pub(crate) fn leads(&self, leads: bool) {
        if self.led.swap(leads, Ordering::Relaxed) != leads {
            self.status.set(f64::from(u8::from(leads)));
            self.transitions.increment(1);
        }
    }

    /// The leader read the Lease before it renewed it.
    pub(crate) fn slow_path(&self) {
        self.slow_path.increment(1);
    }
}

impl Drop for ElectionMetrics {
    fn drop(&mut self) {
        self.leads(false);
    }
}
