//! How the phases of a stop divide the grace period.

use crate::clusters::LONGEST;
use std::time::Duration;
use tokio::time::Instant;

/// A phase may take what the earlier ones left, except for a tenth of the grace period for each later phase: one that is slow leaves
/// time for the others.
#[derive(Debug)]
pub(super) struct GracePeriod {
    end: Instant,
    reserve: Duration,
    later: u32,
}

impl GracePeriod {
    /// Begins now, with this number of phases, fewer than ten.
    pub(super) fn new(period: Duration, phases: usize) -> Self {
        let period = period.min(LONGEST);
        let later = u32::try_from(phases).unwrap_or_default();
        Self { end: Instant::now() + period, reserve: period / 10, later }
    }

    /// The deadline of the next phase.
    pub(super) fn next_deadline(&mut self) -> Instant {
        self.later = self.later.saturating_sub(1);
        self.end - self.reserve * self.later
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn each_later_phase_has_a_tenth_and_the_last_one_the_rest() {
        let began = Instant::now();
        let mut grace = GracePeriod::new(Duration::from_secs(20), 3);
        let deadlines: Vec<_> = (0..4).map(|_| (grace.next_deadline() - began).as_secs()).collect();
        assert_eq!(deadlines, [16, 18, 20, 20]);
    }

    #[tokio::test(start_paused = true)]
    async fn the_longest_and_the_shortest_period_are_no_overflow() {
        let began = Instant::now();
        assert!(GracePeriod::new(Duration::MAX, 5).next_deadline() > began);
        assert_eq!(GracePeriod::new(Duration::ZERO, 5).next_deadline(), began);
    }
}
