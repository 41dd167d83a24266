//! Whether a controller makes progress.

use super::{
    snapshot::RunningObject,
    state::{ControllerState, Observation},
};
use crate::watcher::WatchMonitor;
use std::time::Duration;
use tokio::time::Instant;

/// How long each part of a controller may stand still: see [`Monitor::progress`](super::Monitor::progress).
///
/// `Duration::MAX` means for ever.
///
/// ```
/// use kube_runtime::controller::ProgressLimits;
/// use std::time::Duration;
///
/// let limits = ProgressLimits::default().reconcile(Duration::from_secs(3600));
/// assert_ne!(limits, ProgressLimits::default());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgressLimits {
    watch: Duration,
    queue: Duration,
    reconcile: Duration,
}

impl Default for ProgressLimits {
    fn default() -> Self {
        Self {
            watch: Duration::from_secs(600),
            queue: Duration::from_secs(120),
            reconcile: Duration::from_secs(1800),
        }
    }
}

impl ProgressLimits {
    /// How long a watch may do nothing: neither receive an event or a bookmark, nor end, fail or begin anew; waits between retries
    /// not counted. Default: 10 minutes.
    ///
    /// Longer than the [timeout](crate::watcher::Config::timeout) of the watches, 290 s by default, because a server that sends no
    /// bookmarks is silent until then. A watch that fails again and again makes progress: a restart would not help it.
    #[must_use]
    pub fn watch(mut self, limit: Duration) -> Self {
        self.watch = limit;
        self
    }

    /// How long an object may be due while it could be reconciled. Default: 2 minutes.
    ///
    /// It is exceeded when the output of the controller is not polled.
    #[must_use]
    pub fn queue(mut self, limit: Duration) -> Self {
        self.queue = limit;
        self
    }

    /// How long a reconcile may run. Default: 30 minutes.
    #[must_use]
    pub fn reconcile(mut self, limit: Duration) -> Self {
        self.reconcile = limit;
        self
    }
}

/// A controller does not make progress.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Stalled {
    /// A watch is stuck, or the output of the controller is not polled.
    #[error(
        "the watch of {kind} {scope} of controller {controller} has done nothing for {idle:.1?}, but may for {limit:?}"
    )]
    Watch {
        /// The name of the controller.
        controller: String,
        /// The watched kind.
        kind: String,
        /// `in namespace NAME` or `cluster-wide`.
        scope: String,
        /// How long it has done nothing.
        idle: Duration,
        /// The configured limit.
        limit: Duration,
    },
    /// A watch of a [`WatchMonitor`] is stuck, or its stream is not polled.
    #[error("{monitor}: the watch of {kind} {scope} has done nothing for {idle:.1?}, but may for {limit:?}")]
    MonitoredWatch {
        /// The name of the monitor.
        monitor: String,
        /// The watched kind.
        kind: String,
        /// `in namespace NAME` or `cluster-wide`.
        scope: String,
        /// How long it has done nothing.
        idle: Duration,
        /// The configured limit.
        limit: Duration,
    },
    /// A stream of the program, or a watch, panicked: its changes cause no reconciles any more. Only a restart helps.
    #[error("{source_name} of controller {controller} panicked: {message}")]
    SourcePanicked {
        /// The name of the controller.
        controller: String,
        /// The source, in words, such as `the stream of reconcile_on`.
        source_name: String,
        /// The message of the panic.
        message: String,
    },
    /// Objects are due, workers are free, and no reconcile is started.
    #[error(
        "an object has been due for {waiting:.1?} in the queue of controller {controller}, but may for {limit:?}: is its output polled?"
    )]
    Queue {
        /// The name of the controller.
        controller: String,
        /// How long the first object has been due.
        waiting: Duration,
        /// The configured limit.
        limit: Duration,
    },
    /// A reconcile runs for too long.
    #[error(
        "the reconcile of {object} by controller {controller} has been running for {elapsed:.1?}, but may for {limit:?}"
    )]
    Reconcile {
        /// The name of the controller.
        controller: String,
        /// The object: `NAMESPACE/NAME`, or its name.
        object: String,
        /// How long the reconcile has been running.
        elapsed: Duration,
        /// The configured limit.
        limit: Duration,
    },
}

impl WatchMonitor {
    /// Whether the watches make progress, within the [limit for watches](ProgressLimits::watch): for a liveness probe.
    ///
    /// # Errors
    ///
    /// The watch that has done nothing for longest, if that is too long.
    pub fn progress(&self, limits: &ProgressLimits) -> Result<(), Stalled> {
        match self.longest_idle() {
            Some((watch, idle)) if idle > limits.watch => {
                let scope = scope(watch.namespace.as_deref());
                Err(Stalled::MonitoredWatch {
                    monitor: self.name().to_owned(),
                    kind: watch.kind,
                    scope,
                    idle,
                    limit: limits.watch,
                })
            }
            _ => Ok(()),
        }
    }
}

fn scope(namespace: Option<&str>) -> String {
    namespace.map_or("cluster-wide".to_owned(), |namespace| format!("in namespace {namespace}"))
}

/// The first thing that stands still. O(number of watches and running reconciles).
pub(super) fn check(observation: &Observation, limits: &ProgressLimits, now: Instant) -> Result<(), Stalled> {
    let facts = observation.facts.lock();
    let (controller, state) = (facts.name.to_string(), facts.state);
    let free = facts.max_concurrent == 0 || facts.running.len() < usize::from(facts.max_concurrent);
    let oldest_due = facts.queue.oldest_due.filter(|_| free && state == ControllerState::Running);
    let longest = facts.running.iter().min_by_key(|(_, running)| running.started);
    let longest = longest.map(|(key, running)| RunningObject::of(key, running, now));
    let panicked = facts.panicked_source.clone();
    drop(facts);
    if matches!(state, ControllerState::NotStarted | ControllerState::Stopped) {
        return Ok(());
    }
    if let Some((source_name, message)) = panicked {
        return Err(Stalled::SourcePanicked { controller, source_name, message });
    }
    if let Some(RunningObject { namespace, name, elapsed, .. }) = longest
        && elapsed > limits.reconcile
    {
        let object = namespace.map_or(name.clone(), |namespace| format!("{namespace}/{name}"));
        return Err(Stalled::Reconcile { controller, object, elapsed, limit: limits.reconcile });
    }
    let waiting = oldest_due.map(|due| now.saturating_duration_since(due)).unwrap_or_default();
    if waiting > limits.queue {
        return Err(Stalled::Queue { controller, waiting, limit: limits.queue });
    }
    for watch in observation.watches.watches() {
        let idle = now.saturating_duration_since(watch.status().busy_until());
        if idle > limits.watch {
            let scope = scope(watch.namespace.as_deref());
            let kind = watch.kind.clone();
            return Err(Stalled::Watch { controller, kind, scope, idle, limit: limits.watch });
        }
    }
    Ok(())
}
