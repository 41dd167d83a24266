//! How long a watcher waits before it retries.

use super::error_class::ErrorClass;
use crate::backoff::{Backoff, ExponentialBackoff, RepeatLast, unlimited};
use std::time::Duration;

/// The waits of one watcher.
///
/// The built-in backoff applies always, so that no watcher spins. A configured backoff can only lengthen the waits. Both are
/// reset after a healthy watch, and only then.
pub(crate) struct RetryBackoff {
    transient: ExponentialBackoff,
    persistent: ExponentialBackoff,
    configured: Option<RepeatLast<Box<dyn Backoff>>>,
}

/// Selects the built-in backoff.
#[derive(Debug, Clone, Copy)]
pub(super) enum RetryClass {
    /// The failure may be over in a moment: from 0.1 s to 5 s.
    Transient,
    /// The failure lasts until a person acts: from 1 s to 30 s.
    Persistent,
}

impl RetryClass {
    pub(super) fn of(class: &ErrorClass) -> Self {
        use ErrorClass as E;
        match class {
            E::Forbidden | E::InvalidRequest | E::UnknownKind => Self::Persistent,
            E::Expired | E::ResourceVersionTooLarge | E::Throttled { .. } => Self::Transient,
            E::Undecodable | E::Internal | E::ConnectionFailed | E::IdleTimeout => Self::Transient,
        }
    }
}

impl RetryBackoff {
    /// The built-in backoff, with jitter: up to twice as long as without.
    pub(crate) fn built_in() -> Self {
        let [transient, persistent] = Self::builders();
        Self {
            transient: transient.with_jitter().into(),
            persistent: persistent.with_jitter().into(),
            configured: None,
        }
    }

    /// The built-in backoff, with waits at least as long as those of `backoff`.
    pub(crate) fn at_least(backoff: impl Backoff + 'static) -> Self {
        Self { configured: Some(RepeatLast::new(Box::new(backoff))), ..Self::built_in() }
    }

    #[cfg(test)]
    pub(super) fn without_jitter() -> Self {
        let [transient, persistent] = Self::builders();
        Self { transient: transient.into(), persistent: persistent.into(), configured: None }
    }

    fn builders() -> [backon::ExponentialBuilder; 2] {
        [
            unlimited(Duration::from_millis(100), Duration::from_secs(5)),
            unlimited(Duration::from_secs(1), Duration::from_secs(30)),
        ]
    }

    /// The wait after one more failure.
    pub(super) fn next(&mut self, class: RetryClass) -> Duration {
        self.next_or(class, None)
    }

    /// The wait after this error. The server's `Retry-After` replaces the built-in wait.
    pub(super) fn after(&mut self, class: &ErrorClass) -> Duration {
        let retry_after = match class {
            ErrorClass::Throttled { retry_after } => *retry_after,
            _ => None,
        };
        self.next_or(RetryClass::of(class), retry_after)
    }

    fn next_or(&mut self, class: RetryClass, retry_after: Option<Duration>) -> Duration {
        let built_in = match class {
            RetryClass::Transient => &mut self.transient,
            RetryClass::Persistent => &mut self.persistent,
        };
        let built_in = built_in.next().expect("invariant: the built-in backoff is unlimited");
        let configured = self.configured.as_mut().map(RepeatLast::next).unwrap_or_default();
        retry_after.unwrap_or(built_in).max(configured)
    }

    /// Resets all waits, after a healthy watch.
    pub(super) fn reset(&mut self) {
        self.transient.reset();
        self.persistent.reset();
        if let Some(configured) = &mut self.configured {
            configured.reset();
        }
    }
}
