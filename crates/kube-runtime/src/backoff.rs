//! Delays between retries: the [`Backoff`] trait and its implementations.

use crate::unwind::catch_panic;
use backon::{BackoffBuilder, ExponentialBuilder};
use std::time::Duration;
use tokio::time::Instant;

/// A sequence of retry delays that can be reset.
///
/// [`Iterator::next`] returns the delay after one more failure; [`Backoff::reset`] is called after a success. Watchers,
/// streams and controllers never give up: after `None` they repeat the last delay and log a warning once.
///
/// ```
/// use kube_runtime::{utils::Backoff, watcher::DefaultBackoff};
/// use std::time::Duration;
///
/// let mut backoff = DefaultBackoff::default();
/// assert!(backoff.next().unwrap() >= Duration::from_millis(800));
/// backoff.reset();
/// ```
pub trait Backoff: Iterator<Item = Duration> + Send + Sync + Unpin {
    /// Goes back to the first delay.
    fn reset(&mut self);
}

impl<B: Backoff + ?Sized> Backoff for Box<B> {
    fn reset(&mut self) {
        (**self).reset();
    }
}

/// The minimum delay of [`DefaultBackoff`].
const DEFAULT_MIN: Duration = Duration::from_millis(800);
/// The maximum delay of [`DefaultBackoff`].
const DEFAULT_MAX: Duration = Duration::from_secs(30);

/// Exponential delays, configured by a [`backon::ExponentialBuilder`].
///
/// By default the builder ends after three delays, and the third one repeats from then on. With `without_max_times` the
/// delays grow to the builder's maximum.
///
/// ```
/// use kube_runtime::watcher::ExponentialBackoff;
/// use std::time::Duration;
///
/// let builder = backon::ExponentialBuilder::default().with_min_delay(Duration::from_millis(500)).without_max_times();
/// let mut backoff = ExponentialBackoff::from(builder);
/// assert_eq!(backoff.next(), Some(Duration::from_millis(500)));
/// assert_eq!(backoff.next(), Some(Duration::from_secs(1)));
/// ```
pub struct ExponentialBackoff {
    builder: ExponentialBuilder,
    current: backon::ExponentialBackoff,
}

impl From<ExponentialBuilder> for ExponentialBackoff {
    fn from(builder: ExponentialBuilder) -> Self {
        Self { current: builder.build(), builder }
    }
}

impl Iterator for ExponentialBackoff {
    type Item = Duration;

    fn next(&mut self) -> Option<Self::Item> {
        self.current.next()
    }
}

impl Backoff for ExponentialBackoff {
    fn reset(&mut self) {
        self.current = self.builder.build();
    }
}

/// The default delays after failures of a watch: from 800 ms, doubling, at most 30 s, with jitter, without an end.
///
/// Jitter adds up to the delay's own length, so that many clients do not reconnect at the same instant after an outage.
/// The maximum of 30 s includes it.
pub struct DefaultBackoff(ExponentialBackoff);

impl Default for DefaultBackoff {
    fn default() -> Self {
        Self(unlimited(DEFAULT_MIN, DEFAULT_MAX).with_jitter().into())
    }
}

impl Iterator for DefaultBackoff {
    type Item = Duration;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|delay| delay.min(DEFAULT_MAX))
    }
}

impl Backoff for DefaultBackoff {
    fn reset(&mut self) {
        self.0.reset();
    }
}

/// Delays that double from `min` to `max` and never end, without jitter.
pub(crate) fn unlimited(min: Duration, max: Duration) -> ExponentialBuilder {
    ExponentialBuilder::default().with_factor(2.0).with_min_delay(min).with_max_delay(max).without_max_times()
}

/// Resets the inner backoff when the last failure was long ago.
///
/// For callers that do not call [`Backoff::reset`] on success: a failure more than `reset_duration` after the previous
/// one is treated as the first.
pub struct ResetTimerBackoff<B: Backoff> {
    backoff: B,
    reset_duration: Duration,
    last_failure: Option<Instant>,
}

impl<B: Backoff> ResetTimerBackoff<B> {
    /// Wraps `backoff` so that it is reset after `reset_duration` without a failure.
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

/// Repeats the last delay of a backoff that has ended, until the backoff is reset.
///
/// Builders such as [`backon::ExponentialBuilder`] end after three delays by default, but a watch is retried for ever.
pub(crate) struct RepeatLast<B> {
    backoff: B,
    last: Duration,
    /// Whether the end of the backoff has been logged.
    warned: bool,
}

impl<B: Backoff> RepeatLast<B> {
    pub(crate) fn new(backoff: B) -> Self {
        Self { backoff, last: Duration::ZERO, warned: false }
    }

    /// The delay after one more failure. Zero if the backoff yields zero, or ended before its first delay. If it panics, the last delay
    /// repeats.
    pub(crate) fn next(&mut self) -> Duration {
        let next = catch_panic(|| self.backoff.next()).unwrap_or_else(|panic| {
            tracing::error!(panic, "a backoff panicked; its last delay repeats");
            Some(self.last)
        });
        match next {
            Some(delay) => self.last = delay,
            None if !self.warned => {
                self.warned = true;
                tracing::warn!(delay = ?self.last, "a backoff has ended; its last delay repeats");
            }
            None => {}
        }
        self.last
    }

    pub(crate) fn reset(&mut self) {
        if let Err(panic) = catch_panic(|| self.backoff.reset()) {
            tracing::error!(panic, "the reset of a backoff panicked");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_up_to_the_maximum_and_restart_after_a_reset() {
        let mut backoff = ExponentialBackoff::from(unlimited(Duration::from_secs(1), Duration::from_secs(5)));
        let seconds: Vec<u64> = backoff.by_ref().take(5).map(|delay| delay.as_secs()).collect();
        assert_eq!(seconds, [1, 2, 4, 5, 5]);
        backoff.reset();
        assert_eq!(backoff.next(), Some(Duration::from_secs(1)));
    }

    #[test]
    fn default_delays_stay_within_their_bounds_and_never_end() {
        let mut backoff = DefaultBackoff::default();
        for delay in backoff.by_ref().take(500) {
            assert!((DEFAULT_MIN..=DEFAULT_MAX).contains(&delay), "{delay:?}");
        }
        backoff.reset();
        assert!(backoff.next().unwrap() <= 2 * DEFAULT_MIN, "the first delay with its jitter");
    }

    #[test]
    fn default_delays_differ_between_clients() {
        let first = |_| DefaultBackoff::default().next();
        let distinct: std::collections::BTreeSet<_> = (0..20).map(first).collect();
        assert!(distinct.len() > 1, "jitter must spread the first delay");
    }

    #[test]
    fn the_last_delay_repeats_until_the_backoff_is_reset() {
        let two = unlimited(Duration::from_secs(1), Duration::from_secs(60)).with_max_times(2);
        let mut repeating = RepeatLast::new(ExponentialBackoff::from(two));
        let mut seconds =
            |count: usize| -> Vec<u64> { (0..count).map(|_| repeating.next().as_secs()).collect() };
        assert_eq!(seconds(5), [1, 2, 2, 2, 2]);
        repeating.reset();
        let seconds: Vec<u64> = (0..3).map(|_| repeating.next().as_secs()).collect();
        assert_eq!(seconds, [1, 2, 2]);
    }

    #[test]
    fn the_end_of_a_backoff_is_logged_once() {
        // With one subscriber alone, `tracing` caches what that one is interested in for all threads.
        static PERMANENT: std::sync::OnceLock<tracing::Dispatch> = std::sync::OnceLock::new();
        PERMANENT.get_or_init(|| tracing::Dispatch::new(tracing_subscriber::registry()));
        let (read, write) = std::io::pipe().unwrap();
        let log = tracing_subscriber::fmt().with_writer(std::sync::Mutex::new(write)).finish();
        tracing::subscriber::with_default(log, || {
            let one = unlimited(Duration::from_secs(1), Duration::from_secs(60)).with_max_times(1);
            let mut repeating = RepeatLast::new(ExponentialBackoff::from(one));
            let delays: Vec<_> = (0..5).map(|_| repeating.next()).collect();
            assert_eq!(delays, [Duration::from_secs(1); 5]);
        });
        let log = std::io::read_to_string(read).unwrap();
        assert_eq!(log.matches("its last delay repeats").count(), 1, "{log}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_period_without_failures_resets_the_backoff() {
        let inner = ExponentialBackoff::from(unlimited(Duration::from_secs(1), Duration::from_secs(60)));
        let mut backoff = ResetTimerBackoff::new(inner, Duration::from_secs(120));
        assert_eq!(backoff.next(), Some(Duration::from_secs(1)));
        tokio::time::advance(Duration::from_secs(119)).await;
        assert_eq!(backoff.next(), Some(Duration::from_secs(2)), "119 s are shorter than the reset duration");
        tokio::time::advance(Duration::from_secs(120)).await;
        assert_eq!(backoff.next(), Some(Duration::from_secs(4)), "more than the reset duration is needed");
        tokio::time::advance(Duration::from_secs(121)).await;
        assert_eq!(backoff.next(), Some(Duration::from_secs(1)));
        assert_eq!(backoff.next(), Some(Duration::from_secs(2)));
        backoff.reset();
        assert_eq!(backoff.next(), Some(Duration::from_secs(1)));
    }
}
