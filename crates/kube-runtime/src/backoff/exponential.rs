//! Waiting times that double.

use super::Backoff;
use backon::{BackoffBuilder, ExponentialBuilder};
use std::time::Duration;

/// Shortest wait of [`DefaultBackoff`].
const DEFAULT_MIN: Duration = Duration::from_millis(800);
/// Longest wait of [`DefaultBackoff`].
const DEFAULT_MAX: Duration = Duration::from_secs(30);

/// Exponential waiting times, configured by a [`backon::ExponentialBuilder`].
///
/// The builder's own defaults stop after three waits, and from then on the third one repeats; with `without_max_times` the
/// waits grow to the builder's maximum.
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

/// The waiting times of a watch that fails: from 800 ms, doubling, at most 30 s, with jitter, without an end.
///
/// Jitter lengthens a wait by up to its own length, so that many clients do not come back in the same instant after
/// an outage. The cap of 30 s includes it.
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

/// Doubling waits between `min` and `max` that never end, without jitter.
pub(crate) fn unlimited(min: Duration, max: Duration) -> ExponentialBuilder {
    ExponentialBuilder::default().with_factor(2.0).with_min_delay(min).with_max_delay(max).without_max_times()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_up_to_the_maximum_and_starts_over_after_a_reset() {
        let mut backoff = ExponentialBackoff::from(unlimited(Duration::from_secs(1), Duration::from_secs(5)));
        let seconds: Vec<u64> = backoff.by_ref().take(5).map(|delay| delay.as_secs()).collect();
        assert_eq!(seconds, [1, 2, 4, 5, 5]);
        backoff.reset();
        assert_eq!(backoff.next(), Some(Duration::from_secs(1)));
    }

    #[test]
    fn the_default_stays_between_its_bounds_for_ever() {
        for delay in DefaultBackoff::default().take(500) {
            assert!((DEFAULT_MIN..=DEFAULT_MAX).contains(&delay), "{delay:?}");
        }
    }

    #[test]
    fn the_default_differs_between_clients() {
        let first = |_| DefaultBackoff::default().next();
        let distinct: std::collections::BTreeSet<_> = (0..20).map(first).collect();
        assert!(distinct.len() > 1, "jitter must spread the first wait");
    }
}
