//! How a controller works through its queue.

use super::Config;
use crate::queue::RetryLimits;
use std::time::Duration;

/// How long a reconcile waits for the store to show a write, where nobody says otherwise.
const WRITE_WAIT: Duration = Duration::from_secs(10);

impl Config {
    /// How long to wait after a trigger before the reconcile, so that a burst of triggers becomes one reconcile.
    ///
    /// The time counts from the first trigger; later ones do not lengthen it. Default: zero. Like all durations of a
    /// controller, it is cut to ten years: `Duration::MAX` means never.
    #[must_use]
    pub fn debounce(mut self, debounce: Duration) -> Self {
        self.debounce = debounce;
        self
    }

    /// How many objects may be reconciled at the same time; 0, the default, stands for any number.
    ///
    /// One object is never reconciled twice at the same time.
    #[must_use]
    pub fn concurrency(mut self, concurrency: u16) -> Self {
        self.concurrency = concurrency;
        self
    }

    /// How long objects wait for a [retry](super::Action::retry): `first` after one failure, doubling with each
    /// further one of the same object, up to `longest`. Each wait is cut by a random part of up to a half.
    ///
    /// Default: 5 ms up to 1000 s. An object starts over once a reconcile of it asks for anything but a retry.
    #[must_use]
    pub fn backoff(mut self, first: Duration, longest: Duration) -> Self {
        self.retries = RetryLimits { first, longest };
        self
    }

    /// How long a reconcile waits, at most, until the store shows what the one before it
    /// [wrote](super::Action::after_write). Zero: it does not wait. Default: 10 s.
    ///
    /// Long enough for any watch that works; where it does not, reconciling by old states is better than not at all.
    #[must_use]
    pub fn write_wait(mut self, longest: Duration) -> Self {
        self.write_wait = Some(longest);
        self
    }

    pub(super) fn longest_write_wait(&self) -> Duration {
        self.write_wait.unwrap_or(WRITE_WAIT)
    }

    /// How long one reconcile may take. One that takes longer is dropped at its next `await`, reported as
    /// [`RunnerError::TimedOut`](super::RunnerError), and repeated as after [`Action::retry`](super::Action::retry).
    ///
    /// Default: no limit. What never awaits cannot be interrupted.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }
}
