//! How a controller works through its queue.

use super::Config;
use std::time::Duration;

impl Config {
    /// How long to wait after a trigger before the reconcile, so that a burst of triggers becomes one reconcile.
    ///
    /// The time counts from the first trigger; later ones do not lengthen it. Default: zero.
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
}
