//! The metrics of one elector, through the facade `metrics`.

use metrics::{Counter, Gauge, counter, describe_counter, describe_gauge, gauge};
use std::sync::atomic::{AtomicBool, Ordering};

const MASTER_STATUS: &str = "leader_election_master_status";
const SLOW_PATH: &str = "leader_election_slowpath_total";
const TRANSITIONS: &str = "kube_runtime_leader_election_transitions_total";

/// The handles of one elector.
pub(in crate::leader_election) struct ElectionMetrics {
    status: Gauge,
    slow_path: Counter,
    transitions: Counter,
    led: AtomicBool,
}

impl ElectionMetrics {
    pub(in crate::leader_election) fn new(lease: &str, namespace: &str) -> Self {
        describe_gauge!(MASTER_STATUS, "1 if this process leads, else 0");
        describe_counter!(SLOW_PATH, "Renewals for which the leader had to read the Lease first");
        describe_counter!(TRANSITIONS, "How often this process became or ceased to be the leader");
        let labels = [("name", lease.to_owned()), ("lease_namespace", namespace.to_owned())];
        let metrics = Self {
            status: gauge!(MASTER_STATUS, &labels),
            slow_path: counter!(SLOW_PATH, &labels),
            transitions: counter!(TRANSITIONS, &labels),
            led: AtomicBool::new(false),
        };
        // Not set: another elector of this process may lead by the same Lease.
        metrics.status.increment(0.0);
        metrics.slow_path.increment(0);
        metrics.transitions.increment(0);
        metrics
    }

    /// Whether this process leads now.
    pub(in crate::leader_election) fn leads(&self, leads: bool) {
        if self.led.swap(leads, Ordering::Relaxed) != leads {
            match leads {
                true => self.status.increment(1.0),
                false => self.status.decrement(1.0),
            }
            self.transitions.increment(1);
        }
    }

    /// The leader read the Lease before it renewed it.
    pub(in crate::leader_election) fn slow_path(&self) {
        self.slow_path.increment(1);
    }
}

impl Drop for ElectionMetrics {
    fn drop(&mut self) {
        self.leads(false);
    }
}
