//! How long a watcher waits before it tries again, whatever its user does.

use crate::backoff::{Backoff, ExponentialBackoff, unlimited};
use std::time::Duration;

/// The waits between tries that bring nothing.
///
/// They are the floor that keeps a watcher from spinning. Waits for users to choose come on top, and run at the same
/// time, not after them.
pub(super) struct Pace {
    soon: ExponentialBackoff,
    later: ExponentialBackoff,
}

/// After what kind of failure to wait.
#[derive(Debug, Clone, Copy)]
pub(super) enum Trouble {
    /// One that may be over in a moment.
    Passing,
    /// One that lasts until somebody does something about it.
    Lasting,
}

impl Pace {
    /// Waits with jitter: up to twice as long as without.
    pub(super) fn jittered() -> Self {
        let [soon, later] = Self::sequences();
        Self { soon: soon.with_jitter().into(), later: later.with_jitter().into() }
    }

    /// The same waits every time.
    #[cfg(test)]
    pub(super) fn steady() -> Self {
        let [soon, later] = Self::sequences();
        Self { soon: soon.into(), later: later.into() }
    }

    fn sequences() -> [backon::ExponentialBuilder; 2] {
        [
            unlimited(Duration::from_millis(100), Duration::from_secs(5)),
            unlimited(Duration::from_secs(1), Duration::from_secs(30)),
        ]
    }

    /// The wait after one more failure.
    pub(super) fn next(&mut self, trouble: Trouble) -> Duration {
        let sequence = match trouble {
            Trouble::Passing => &mut self.soon,
            Trouble::Lasting => &mut self.later,
        };
        sequence.next().expect("invariant: the sequences have no end")
    }

    /// Notes that something worked.
    pub(super) fn reset(&mut self) {
        self.soon.reset();
        self.later.reset();
    }
}
