//! What is measured, with and without the feature `metrics`.

use super::Together;
use std::{sync::Arc, time::Duration};
use tokio::time::Instant;

/// Whose metrics they are.
#[derive(Debug, Clone)]
#[cfg_attr(not(feature = "metrics"), expect(dead_code, reason = "nothing is recorded"))]
pub(crate) struct Subject {
    /// The name of the controller.
    pub(crate) controller: Arc<str>,
    /// With others of this name.
    pub(crate) together: Option<Together>,
}

impl Subject {
    /// One that no other has the name of.
    pub(crate) fn alone(controller: &Arc<str>) -> Self {
        Self { controller: Arc::clone(controller), together: None }
    }
}

/// The end of a reconcile.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(not(feature = "metrics"), expect(dead_code, reason = "nothing is recorded"))]
pub(crate) struct Finished {
    /// A value of the label `result`.
    pub(crate) result: &'static str,
    pub(crate) failed: bool,
    pub(crate) panicked: bool,
    pub(crate) timed_out: bool,
    /// Whether its object is queued again with backoff, or after a failure.
    pub(crate) retried: bool,
    /// Whether its object is not queued again.
    pub(crate) final_: bool,
    pub(crate) elapsed: Duration,
}

/// The fair lanes of a queue; zero without any.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct LaneMeasurement {
    pub(crate) lanes: usize,
    /// The number of objects that are due in the deepest one.
    pub(crate) deepest: usize,
    /// How long the first object of any lane has been due.
    pub(crate) longest_wait: Duration,
}

/// A step of a watch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct WatchMeasurement {
    /// A value of the label `type`, if an event was received.
    pub(crate) event: Option<&'static str>,
    /// Failed requests, and states of objects that cannot be decoded.
    pub(crate) errors: u64,
    pub(crate) restarted: bool,
    pub(crate) relisted: bool,
    /// By how much the number of objects changed.
    pub(crate) objects: i64,
    /// By how much the number of objects that cannot be decoded changed.
    pub(crate) undecodable: i64,
    /// How many bytes were received.
    pub(crate) bytes: u64,
}

/// Something whose gauges change with time alone.
pub(crate) trait Refresh: Send + Sync {
    /// Sets the gauges.
    #[cfg_attr(not(feature = "metrics"), allow(dead_code, reason = "nothing is recorded"))]
    fn refresh(&self, now: Instant);
}
