//! How long a watcher waits before it retries, and which failures it reports.

use crate::{
    backoff::{Backoff, DefaultBackoff, ExponentialBackoff, RepeatLast, unlimited},
    delay::after,
};
use kube_client::error::ErrorClass;
use std::time::Duration;
use tokio::time::Instant;

/// The waits of one watcher.
///
/// The built-in backoff applies always, so that no watcher spins. A configured backoff can only lengthen the waits. Both are
/// reset after a healthy watch, and only then.
pub(crate) struct RetryBackoff {
    relist: ExponentialBackoff,
    unreachable: ExponentialBackoff,
    transient: ExponentialBackoff,
    persistent: ExponentialBackoff,
    configured: Option<Configured>,
    /// Whether there was a failure since the last healthy watch.
    failing: bool,
}

/// What lengthens the waits.
enum Configured {
    Default(Box<DefaultWaits>),
    /// All waits, because the program wants it so.
    Program(RepeatLast<Box<dyn Backoff>>),
}

/// Spares a server that is loaded: not one that does not answer, nor one that has just answered that a list is needed.
#[derive(Default)]
struct DefaultWaits {
    backoff: DefaultBackoff,
    reports: Reports,
}

/// Selects the built-in backoff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RetryClass {
    /// The server answered that a list is needed: 0.1 s, so that the clients of a restarted server do not list at one instant.
    Relist,
    /// Nothing answers: 1 s. Longer waits would spare no server.
    Unreachable,
    /// The failure may be over in a moment: from 0.1 s to 5 s.
    Transient,
    /// The failure lasts until a person acts: from 1 s to 30 s.
    Persistent,
}

impl RetryClass {
    pub(super) fn of(class: &ErrorClass) -> Self {
        use ErrorClass as E;
        match class {
            // NotFound of a collection is that of its namespace, from a server that looks.
            E::Forbidden | E::InvalidRequest | E::UnknownKind | E::NotFound => Self::Persistent,
            E::Unreachable => Self::Unreachable,
            _ => Self::Transient,
        }
    }

    /// For the relist that follows an error of this class.
    pub(super) fn of_relist(class: &ErrorClass) -> Self {
        match class {
            ErrorClass::Expired | ErrorClass::ResourceVersionTooLarge => Self::Relist,
            class => Self::of(class),
        }
    }
}

impl RetryBackoff {
    /// The built-in backoff, with jitter: up to twice as long as without. Every failure is reported.
    pub(crate) fn built_in() -> Self {
        let [relist, unreachable, transient, persistent] =
            Self::builders().map(|builder| builder.with_jitter().into());
        Self { relist, unreachable, transient, persistent, configured: None, failing: false }
    }

    /// The built-in backoff, and the default one for a server that answers. Failures to reach the server are reported ever more
    /// rarely, up to every 30 s. For watches without a backoff behind them.
    pub(crate) fn with_default() -> Self {
        Self { configured: Some(Configured::Default(Box::default())), ..Self::built_in() }
    }

    /// The built-in backoff, with waits at least as long as those of `backoff`, the program's.
    pub(crate) fn at_least(backoff: impl Backoff + 'static) -> Self {
        let configured = Configured::Program(RepeatLast::new(Box::new(backoff)));
        Self { configured: Some(configured), ..Self::built_in() }
    }

    #[cfg(test)]
    pub(super) fn without_jitter() -> Self {
        let [relist, unreachable, transient, persistent] = Self::builders().map(ExponentialBackoff::from);
        Self { relist, unreachable, transient, persistent, configured: None, failing: false }
    }

    fn builders() -> [backon::ExponentialBuilder; 4] {
        [
            unlimited(Duration::from_millis(100), Duration::from_millis(100)),
            unlimited(Duration::from_secs(1), Duration::from_secs(1)),
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
        self.failing = true;
        let built_in = match class {
            RetryClass::Relist => &mut self.relist,
            RetryClass::Unreachable => &mut self.unreachable,
            RetryClass::Transient => &mut self.transient,
            RetryClass::Persistent => &mut self.persistent,
        };
        let built_in = built_in.next().expect("invariant: the built-in backoff is unlimited");
        let configured = match (&mut self.configured, class) {
            (None, _) => None,
            (Some(Configured::Default(_)), RetryClass::Relist | RetryClass::Unreachable) => None,
            (Some(Configured::Default(waits)), _) => waits.backoff.next(),
            (Some(Configured::Program(backoff)), _) => Some(backoff.next()),
        };
        retry_after.unwrap_or(built_in).max(configured.unwrap_or_default())
    }

    /// Whether a failure to reach the server is reported.
    pub(super) fn reports_unreachable(&mut self, now: Instant) -> bool {
        match &mut self.configured {
            Some(Configured::Default(waits)) => waits.reports.is_due(now),
            _ => true,
        }
    }

    /// Whether there was a failure since the last healthy watch.
    pub(super) fn is_failing(&self) -> bool {
        self.failing
    }

    /// Resets all waits, after a healthy watch.
    pub(super) fn reset(&mut self) {
        self.failing = false;
        self.transient.reset();
        self.persistent.reset();
        match &mut self.configured {
            None => {}
            Some(Configured::Default(waits)) => {
                waits.backoff.reset();
                waits.reports = Reports::default();
            }
            Some(Configured::Program(backoff)) => backoff.reset(),
        }
    }
}

/// When failures of attempts that are made every second are reported: at once, and then after waits that double from 1 s to 30 s.
struct Reports {
    next: Option<Instant>,
    waits: ExponentialBackoff,
}

impl Default for Reports {
    fn default() -> Self {
        Self { next: None, waits: unlimited(Duration::from_secs(1), Duration::from_secs(30)).into() }
    }
}

impl Reports {
    fn is_due(&mut self, now: Instant) -> bool {
        let due = self.next.is_none_or(|next| next <= now);
        if due {
            let wait = self.waits.next().expect("invariant: the waits are unlimited");
            self.next = Some(after(now, wait));
        }
        due
    }
}
