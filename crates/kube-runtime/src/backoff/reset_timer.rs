//! A backoff that forgets old failures.

use super::Backoff;
use std::time::Duration;
use tokio::time::Instant;

/// Starts its inner sequence over when the last failure is long ago.
///
/// Use it where nobody calls [`Backoff::reset`] on success: a failure that comes more than `reset_duration` after the
/// one before it counts as the first.
pub struct ResetTimerBackoff<B: Backoff> {
    backoff: B,
    reset_duration: Duration,
    last_failure: Option<Instant>,
}

impl<B: Backoff> ResetTimerBackoff<B> {
    /// Wraps `backoff` so that it starts over after `reset_duration` without a failure.
    pub fn new(backoff: B, reset_duration: Duration) -> Self {
        Self { backoff, reset_duration, last_failure: None }
    }
}

impl<B: Backoff> Iterator for ResetTimerBackoff<B> {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        let now = Instant::now();
        if self.last_failure.replace(now).is_some_and(|last| now.duration_since(last) > self.reset_duration) {
            self.backoff.reset();
        }
        self.backoff.next()
    }
}

impl<B: Backoff> Backoff for ResetTimerBackoff<B> {
    fn reset(&mut self) {
        self.last_failure = None;
        self.backoff.reset();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backoff::{ExponentialBackoff, exponential::unlimited};

    #[tokio::test(start_paused = true)]
    async fn a_quiet_time_starts_the_sequence_over() {
        let inner = ExponentialBackoff::from(unlimited(Duration::from_secs(1), Duration::from_secs(60)));
        let mut backoff = ResetTimerBackoff::new(inner, Duration::from_secs(120));
        assert_eq!(backoff.next(), Some(Duration::from_secs(1)));
        tokio::time::advance(Duration::from_secs(119)).await;
        assert_eq!(backoff.next(), Some(Duration::from_secs(2)), "119 s are not yet quiet");
        tokio::time::advance(Duration::from_secs(121)).await;
        assert_eq!(backoff.next(), Some(Duration::from_secs(1)));
    }
}
