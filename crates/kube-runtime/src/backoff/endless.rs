//! A backoff that never ends.

use super::Backoff;
use std::time::Duration;

/// Repeats the last wait of a backoff that has ended, until it starts over.
///
/// Builders such as [`backon::ExponentialBuilder`] stop after three waits unless told otherwise; a watch has to go on.
pub(crate) struct Endless<B> {
    backoff: B,
    last: Duration,
    /// Whether the log has said that the backoff has ended. Once is enough.
    warned: bool,
}

impl<B: Backoff> Endless<B> {
    pub(crate) fn new(backoff: B) -> Self {
        Self { backoff, last: Duration::ZERO, warned: false }
    }

    /// The wait after one more failure. Zero only for a backoff that never had a wait, or has one of zero.
    pub(crate) fn next(&mut self) -> Duration {
        match self.backoff.next() {
            Some(wait) => self.last = wait,
            None if !self.warned => {
                self.warned = true;
                tracing::warn!(wait = ?self.last, "a backoff has ended; its last wait repeats");
            }
            None => {}
        }
        self.last
    }

    pub(crate) fn reset(&mut self) {
        self.backoff.reset();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backoff::{ExponentialBackoff, unlimited};

    #[test]
    fn the_last_wait_repeats_until_the_backoff_starts_over() {
        let two = unlimited(Duration::from_secs(1), Duration::from_secs(60)).with_max_times(2);
        let mut endless = Endless::new(ExponentialBackoff::from(two));
        let mut seconds =
            |count: usize| -> Vec<u64> { (0..count).map(|_| endless.next().as_secs()).collect() };
        assert_eq!(seconds(5), [1, 2, 2, 2, 2]);
        endless.reset();
        let seconds: Vec<u64> = (0..3).map(|_| endless.next().as_secs()).collect();
        assert_eq!(seconds, [1, 2, 2]);
    }
}
