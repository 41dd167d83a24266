//! How long to pause after failures, and when an outage is reported. No I/O.

use std::time::Duration;

use tokio::time::Instant;

/// An outage is reported when nothing has succeeded for so long, and then again after the same time.
const REPORT: Duration = Duration::from_secs(60);

const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// An attempt that lasted longer has not failed: what has nothing to say is quiet for any time.
const STABLE: Duration = Duration::from_secs(10);

/// Failures in a row.
#[derive(Debug, Default)]
pub(super) struct Outage {
    failures: u32,
    since: Option<Instant>,
}

impl Outage {
    /// An attempt has succeeded.
    pub(super) fn over(&mut self) {
        *self = Self::default();
    }

    /// An attempt that began at this time has ended without a failure. It was of no use if it ended at once and received nothing.
    pub(super) fn ended(&mut self, began: Instant, now: Instant, received: bool) {
        if received || is_stable(began, now) {
            self.over();
        } else {
            self.failed(now);
        }
    }

    /// An attempt has failed. Returns whether to report the error.
    pub(super) fn failed(&mut self, now: Instant) -> bool {
        self.failures = self.failures.saturating_add(1);
        let since = *self.since.get_or_insert(now);
        let report = now.duration_since(since) >= REPORT;
        if report {
            self.since = Some(now);
        }
        report
    }

    /// How long to wait before the next attempt.
    pub(super) fn pause(&self) -> Duration {
        FIRST_PAUSE.saturating_mul(1 << self.failures.saturating_sub(1).min(10)).min(LONGEST_PAUSE)
    }
}

/// Whether an attempt lasted so long that its server was there, if it had answered.
pub(super) fn is_stable(began: Instant, now: Instant) -> bool {
    now.duration_since(began) > STABLE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_an_outage_is_reported_once_a_minute() {
        let (mut outage, start) = (Outage::default(), Instant::now());
        let mut pauses = Vec::new();
        for second in [0, 1, 2, 3, 4, 5, 6, 59] {
            assert!(!outage.failed(start + Duration::from_secs(second)));
            pauses.push(outage.pause().as_millis());
        }
        assert_eq!(pauses, [250, 500, 1000, 2000, 4000, 8000, 10_000, 10_000]);
        assert!(outage.failed(start + Duration::from_secs(60)));
        assert!(!outage.failed(start + Duration::from_secs(119)));
        assert!(outage.failed(start + Duration::from_secs(120)));
        outage.over();
        assert!(!outage.failed(start + Duration::from_secs(500)));
        assert_eq!(outage.pause(), FIRST_PAUSE);
        let later = start + Duration::from_secs(501);
        outage.ended(later, later, false);
        assert!(outage.pause() > FIRST_PAUSE);
        outage.ended(later, later + STABLE * 2, false);
        assert_eq!(outage.pause(), FIRST_PAUSE);
    }
}
