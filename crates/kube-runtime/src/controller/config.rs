//! The configuration of a controller.

use crate::queue::BackoffRange;
use std::time::Duration;

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
    pub(super) retry_backoff: BackoffRange,
    pub(super) timeout: Option<Duration>,
    write_wait: Option<Duration>,
    pub(super) name: Option<String>,
    initial_sync_timeout: Option<Duration>,
    ends_without_sync: bool,
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

    /// The delay before a [retry](super::Action::retry): `first` after one failure, doubling with each further one of the
    /// same object, up to `longest`. Jitter shortens each delay by up to one half.
    ///
    /// Default: 5 ms up to 1000 s. Any other action than a retry resets the delay of its object.
    #[must_use]
    pub fn backoff(mut self, first: Duration, longest: Duration) -> Self {
        self.retry_backoff = BackoffRange { min: first, max: longest };
        self
    }

    /// The maximum time that a reconcile waits until the store shows what its predecessor
    /// [wrote](super::Action::after_write). Zero disables the wait. Default: 10 s.
    ///
    /// The default is long enough for any working watch. While a watch is broken, the reconcile proceeds with the old
    /// state.
    #[must_use]
    pub fn write_wait(mut self, longest: Duration) -> Self {
        self.write_wait = Some(longest);
        self
    }

    pub(super) fn max_write_wait(&self) -> Duration {
        self.write_wait.unwrap_or(DEFAULT_WRITE_WAIT)
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
