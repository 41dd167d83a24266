//! The configuration of a controller.

use super::lanes::FairBy;
use crate::queue::BackoffRange;
use kube_core::{
    ObjectMeta,
    reconcile::{ReconcileObserver, observer_of_thread},
};
use std::{fmt, sync::Arc, time::Duration};

/// The default of [`Config::write_wait`].
const DEFAULT_WRITE_WAIT: Duration = Duration::from_secs(10);

/// The default of [`Config::initial_sync_timeout`].
const DEFAULT_SYNC_TIMEOUT: Duration = Duration::from_secs(30);

/// Debounce, concurrency, retries and timeouts of a controller.
///
/// ```
/// use kube_runtime::Config;
/// use std::time::Duration;
///
/// let _config = Config::default()
///     .concurrency(10)
///     .debounce(Duration::from_secs(1))
///     .timeout(Duration::from_secs(60))
///     .backoff(Duration::from_millis(50), Duration::from_secs(300))
///     .write_wait(Duration::from_secs(5))
///     .name("pages");
/// ```
#[derive(Clone, Debug, Default)]
pub struct Config {
    pub(super) debounce: Duration,
    pub(super) concurrency: u16,
    pub(super) fair_by: Option<FairBy>,
    pub(super) lane_concurrency: u16,
    pub(super) retry_backoff: BackoffRange,
    pub(super) timeout: Option<Duration>,
    write_wait: Option<Duration>,
    pub(super) name: Option<String>,
    initial_sync_timeout: Option<Duration>,
    ends_without_sync: bool,
    own_writes: Option<bool>,
    skips_own_writes: bool,
    observer: Option<Observer>,
}

/// What observes the reconciles.
#[derive(Clone)]
pub(super) struct Observer(pub(super) Arc<dyn ReconcileObserver>);

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ReconcileObserver")
    }
}

impl Config {
    /// The name of the controller in metrics, logs and [snapshots](super::Snapshot). Default: the kind in lower case, as in Go's
    /// controller-runtime.
    ///
    /// It should be unique in the process. If another running controller has the name, `-2`, `-3` and so on is appended, so that no
    /// two controllers write the same time series.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// The time from a trigger to its reconcile, so that a burst of triggers becomes one reconcile. Default: zero.
    ///
    /// It starts at the first trigger; later ones do not extend it. Like all durations of a controller, it is capped at ten
    /// years: `Duration::MAX` means never.
    #[must_use]
    pub fn debounce(mut self, debounce: Duration) -> Self {
        self.debounce = debounce;
        self
    }

    /// The maximum of concurrent reconciles. Default: 0, which means no limit.
    ///
    /// One object is never reconciled twice at the same time.
    #[must_use]
    pub fn concurrency(mut self, concurrency: u16) -> Self {
        self.concurrency = concurrency;
        self
    }

    /// Gives the objects of each namespace a lane of their own in the queue, and serves the lanes in turn: see [`fair_by`](Self::fair_by).
    ///
    /// ```
    /// use kube_runtime::Config;
    ///
    /// let _config = Config::default().concurrency(10).fair_by_namespace().lane_concurrency(5);
    /// ```
    #[must_use]
    pub fn fair_by_namespace(mut self) -> Self {
        self.fair_by = Some(FairBy::Namespace);
        self
    }

    /// Serves the objects that are due lane by lane, so that a tenant with many changes, or with slow reconciles, does not delay the
    /// others. Default: one line for all.
    ///
    /// `lane` returns the name of an object's lane from its metadata: that of its tenant, say. Objects for which it returns `None`, or
    /// panics, are in one lane together, and so are those that the store does not have any more. It requires a limit of
    /// [`concurrency`](Self::concurrency): without one nothing waits, and the output ends with
    /// [`RunnerError::InvalidConfig`](super::RunnerError).
    ///
    /// Lanes are served in turn (deficit round robin over worker time): in a round, each lane may start objects until its reconciles have
    /// taken 10 ms, and one that took longer waits for as many rounds, at most 500. Within a lane, changes go before the background, as
    /// without lanes. Workers are never idle while any lane may start something.
    ///
    /// `lane` is called when an object is queued that does not wait already, so it has to be fast. An object that waits stays in its lane
    /// until it was reconciled, also if `lane` would return another one meanwhile or the object is deleted. Of a name with more than 253
    /// bytes, a hash replaces the end. An object in a [compact cache](crate::reflector::compact_store) is decoded for the call.
    ///
    /// ```
    /// use kube_runtime::Config;
    ///
    /// let _config = Config::default()
    ///     .concurrency(10)
    ///     .fair_by(|object| object.labels.as_ref()?.get("example.com/tenant").cloned());
    /// ```
    ///
    /// # Cost
    ///
    /// O(log n) for each start and each queued object, where n is the number of lanes. A lane needs memory while any of its objects waits
    /// or runs.
    #[must_use]
    pub fn fair_by<L: Into<Option<String>>>(
        mut self,
        lane: impl Fn(&ObjectMeta) -> L + Send + Sync + 'static,
    ) -> Self {
        self.fair_by = Some(FairBy::Function(Arc::new(move |object| lane(object).into())));
        self
    }

    /// The maximum of concurrent reconciles of one [lane](Self::fair_by). Default: 0, which means no limit but that of
    /// [`concurrency`](Self::concurrency).
    ///
    /// With less than that, a worker is always left for other lanes. A lane at its limit does not delay the others.
    ///
    /// Without lanes, the output ends with [`RunnerError::InvalidConfig`](super::RunnerError).
    #[must_use]
    pub fn lane_concurrency(mut self, concurrency: u16) -> Self {
        self.lane_concurrency = concurrency;
        self
    }

    /// What contradicts itself, and what was expected.
    pub(super) fn problem(&self) -> Option<&'static str> {
        if self.fair_by.is_some() && self.concurrency == 0 {
            return Some(
                "Config::fair_by requires a limit of running reconciles: expected a call of Config::concurrency with 1 or more",
            );
        }
        if self.fair_by.is_none() && self.lane_concurrency > 0 {
            return Some(
                "Config::lane_concurrency requires lanes: expected a call of Config::fair_by or Config::fair_by_namespace",
            );
        }
        None
    }

    /// The delay before a [retry](super::Action::retry): `first` after one failure, doubling with each further one of the
    /// same object, up to `longest`. Jitter shortens each delay by up to one half.
    ///
    /// Default: 5 ms up to 1000 s. Any other action than a retry resets the delay of its object.
    #[must_use]
    pub fn backoff(mut self, first: Duration, longest: Duration) -> Self {
        self.retry_backoff = BackoffRange { min: first, max: longest };
        self
    }

    /// The maximum time that a reconcile waits until caches show what its predecessor wrote: [by itself](Self::wait_for_own_writes), or as
    /// an [action](super::Action::after_write) says. Zero disables the wait. Default: 10 s.
    ///
    /// The default is long enough for any working watch. While a watch is broken, the reconcile proceeds with the old
    /// state, after a warning in the log.
    #[must_use]
    pub fn write_wait(mut self, longest: Duration) -> Self {
        self.write_wait = Some(longest);
        self
    }

    pub(super) fn max_write_wait(&self) -> Duration {
        self.write_wait.unwrap_or(DEFAULT_WRITE_WAIT)
    }

    /// Whether the next reconcile of an object starts only when the caches show what the last one wrote. Default: no; yes in the manager of
    /// `kube-operator`.
    ///
    /// So no decision is made by a cache that does not show the last one yet: no child is created twice because the first is not visible,
    /// and nothing is deleted that was just adopted. Other objects do not wait.
    ///
    /// - What counts: each write by an `Api` (or another method of a [`Client`](kube_client::Client), except
    ///   [`send`](kube_client::Client::send)) that the server has confirmed, in the reconcile, its error handling, and tasks spawned by
    ///   [`ReconcileScope::spawn`](kube_client::reconcile::ReconcileScope::spawn). Not: writes of a task that `tokio::spawn` makes, what is
    ///   written after the reconcile has returned, and `delete_collection`.
    /// - What is waited for: the store of the controller, those of related objects, those that it [reads](crate::Controller::reads), and
    ///   watches of related objects without a store. Each shows the write, a newer state, or the end of the object. A watch whose
    ///   namespaces or selectors exclude the object is not waited for; nor is one with a field selector other than by name or namespace,
    ///   unless its store has the object. Nor is a watch of another server, by the addresses in the configurations of the clients.
    /// - For how long: at most [`write_wait`](Self::write_wait). A watch that fails is waited for once, until it works again.
    ///
    /// [`Action::after_write`](super::Action::after_write) remains, for writes that the scope cannot see.
    ///
    /// # Cost
    /// Nothing for a reconcile that writes nothing. Each write is compared with the stores of its kind, and its response is read once more.
    ///
    /// ```
    /// let _config = kube_runtime::Config::default().wait_for_own_writes(true);
    /// ```
    #[must_use]
    pub fn wait_for_own_writes(mut self, wait: bool) -> Self {
        self.own_writes = Some(wait);
        self
    }

    pub(super) fn waits_for_own_writes(&self) -> bool {
        self.own_writes.unwrap_or_default() && !self.max_write_wait().is_zero()
    }

    /// Unless the program has chosen.
    pub(super) fn waits_for_own_writes_by_default(&mut self) {
        self.own_writes.get_or_insert(true);
    }

    /// A change that shows exactly what the last reconcile of the same object wrote triggers no reconcile of it. Default: it does, so
    /// that most changes are reconciled twice.
    ///
    /// A reconcile that writes and needs to come again has to say so by its [`Action`](super::Action);
    /// [`finalizer`](fn@crate::finalizer) does. Changes by others trigger, also if they are part of the same object as own ones. So does
    /// what a list shows, because it may hide a change of another between the object that was read and the one that was written, and what
    /// shared subscriptions and streams of the program show.
    ///
    /// What counts as written is the same as for [`wait_for_own_writes`](Self::wait_for_own_writes), which it does not turn on.
    ///
    /// ```
    /// let _config = kube_runtime::Config::default().wait_for_own_writes(true).skip_own_writes();
    /// ```
    #[must_use]
    pub fn skip_own_writes(mut self) -> Self {
        self.skips_own_writes = true;
        self
    }

    pub(super) fn skips_own_writes(&self) -> bool {
        self.skips_own_writes
    }

    /// Tells `observer` what the reconciles read from stores, which requests they make, and what they write. For tools that check
    /// reconcilers.
    ///
    /// Without an observer, a read of a store costs the load of one number for it, and a request nothing.
    ///
    /// ```
    /// use kube_core::reconcile::{Observed, ReconcileMark, ReconcileObserver};
    /// use std::sync::Arc;
    ///
    /// struct Printed;
    ///
    /// impl ReconcileObserver for Printed {
    ///     fn observe(&self, reconcile: &ReconcileMark, what: &Observed<'_>) {
    ///         println!("{reconcile}: {what:?}");
    ///     }
    /// }
    ///
    /// let _config = kube_runtime::Config::default().observe_reconciles(Arc::new(Printed));
    /// ```
    #[must_use]
    pub fn observe_reconciles(mut self, observer: Arc<dyn ReconcileObserver>) -> Self {
        self.observer = Some(Observer(observer));
        self
    }

    /// That of the configuration, else that of this thread.
    pub(super) fn observer(&self) -> Option<Observer> {
        self.observer.clone().or_else(|| observer_of_thread().map(Observer))
    }

    /// The maximum duration of one reconcile. A reconcile that exceeds it is dropped at its next `await`, reported as
    /// [`RunnerError::TimedOut`](super::RunnerError), and retried as after [`Action::retry`](super::Action::retry).
    ///
    /// Default: no limit. A reconcile that does not await cannot be interrupted.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// How long the first lists of all watches may take before the controller logs what it waits for: kind, scope and last error of each
    /// list that is missing, such as the permission that is not granted. It repeats that after each further `timeout`. Default: 30 s.
    ///
    /// The controller goes on waiting, unless [`fail_without_initial_sync`](Self::fail_without_initial_sync) is set. Zero disables both.
    ///
    /// ```
    /// use kube_runtime::Config;
    /// use std::time::Duration;
    ///
    /// let _config = Config::default().initial_sync_timeout(Duration::from_secs(120)).fail_without_initial_sync();
    /// ```
    #[must_use]
    pub fn initial_sync_timeout(mut self, timeout: Duration) -> Self {
        self.initial_sync_timeout = Some(timeout);
        self
    }

    /// Ends the output with [`RunnerError::SyncTimedOut`](super::RunnerError) if a first list is still missing after the
    /// [timeout](Self::initial_sync_timeout). Running reconciles finish first.
    ///
    /// Without it, a controller that may not list its own objects never reconciles, and one that may not list related objects misses
    /// their changes, until the permission is granted.
    #[must_use]
    pub fn fail_without_initial_sync(mut self) -> Self {
        self.ends_without_sync = true;
        self
    }

    /// The timeout of the initial sync, and whether it ends the output.
    pub(super) fn initial_sync(&self) -> (Duration, bool) {
        (self.initial_sync_timeout.unwrap_or(DEFAULT_SYNC_TIMEOUT), self.ends_without_sync)
    }
}
