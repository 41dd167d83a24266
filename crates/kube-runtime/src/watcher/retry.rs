//! How long a watcher waits before it tries again.

use super::fault::Fault;
use crate::backoff::{Backoff, ExponentialBackoff, RepeatLast, unlimited};
use std::time::Duration;

/// The waits of one watcher.
///
/// Its own waits keep it from spinning, whatever its user does. Where the user has given a backoff, the longer of the two
/// waits counts. Both start over after a watch that lived, and only then.
pub(crate) struct RetryBackoff {
    short: ExponentialBackoff,
    long: ExponentialBackoff,
    configured: Option<RepeatLast<Box<dyn Backoff>>>,
}

/// After what kind of failure to wait.
#[derive(Debug, Clone, Copy)]
pub(super) enum RetryClass {
    /// One that may be over in a moment: from 0.1 s to 5 s.
    Transient,
    /// One that lasts until somebody does something about it: from 1 s to 30 s.
    Persistent,
}

impl RetryClass {
    pub(super) fn of(fault: &Fault) -> Self {
        match fault {
            Fault::Forbidden | Fault::Refused | Fault::UnknownKind => Self::Persistent,
            Fault::Expired | Fault::Behind | Fault::Busy { .. } => Self::Transient,
            Fault::Undecodable | Fault::Internal | Fault::Broken | Fault::Silent => Self::Transient,
        }
    }
}

impl RetryBackoff {
    /// The watcher's own waits, with jitter: up to twice as long as without.
    pub(crate) fn own() -> Self {
        let [short, long] = Self::sequences();
        Self { short: short.with_jitter().into(), long: long.with_jitter().into(), configured: None }
    }

    /// At least the waits of `backoff`.
    pub(crate) fn at_least(backoff: impl Backoff + 'static) -> Self {
        Self { configured: Some(RepeatLast::new(Box::new(backoff))), ..Self::own() }
    }

    /// The same waits every time.
    #[cfg(test)]
    pub(super) fn without_jitter() -> Self {
        let [short, long] = Self::sequences();
        Self { short: short.into(), long: long.into(), configured: None }
    }

    fn sequences() -> [backon::ExponentialBuilder; 2] {
        [
            unlimited(Duration::from_millis(100), Duration::from_secs(5)),
            unlimited(Duration::from_secs(1), Duration::from_secs(30)),
        ]
    }

    /// The wait after one more failure.
    pub(super) fn next(&mut self, class: RetryClass) -> Duration {
        self.next_or(class, None)
    }

    /// The wait after this fault. Where the server has said how long to wait, that counts instead of the watcher's own wait.
    pub(super) fn after(&mut self, fault: &Fault) -> Duration {
        let retry_after = match fault {
            Fault::Busy { retry_after } => *retry_after,
            _ => None,
        };
        self.next_or(RetryClass::of(fault), retry_after)
    }

    fn next_or(&mut self, class: RetryClass, retry_after: Option<Duration>) -> Duration {
        let own = match class {
            RetryClass::Transient => &mut self.short,
            RetryClass::Persistent => &mut self.long,
        };
        let own = own.next().expect("invariant: the sequences have no end");
        let configured = self.configured.as_mut().map(RepeatLast::next).unwrap_or_default();
        retry_after.unwrap_or(own).max(configured)
    }

    /// Notes that a watch lived.
    pub(super) fn reset(&mut self) {
        self.short.reset();
        self.long.reset();
        if let Some(configured) = &mut self.configured {
            configured.reset();
        }
    }
}
