//! Delays that users choose, added to instants.
//!
//! `Instant + Duration` panics beyond the range of the platform, and `Duration::MAX` is how users say "never".

use std::time::Duration;
use tokio::time::Instant;

/// Longer delays are cut to this one. No process waits ten years.
pub(crate) const MAX_DELAY: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);

/// The instant that comes `delay`, but at most [`MAX_DELAY`], after `now`.
pub(crate) fn after(now: Instant, delay: Duration) -> Instant {
    now + delay.min(MAX_DELAY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_are_added_and_cut_to_the_longest() {
        assert_eq!(MAX_DELAY.as_secs(), 315_360_000, "ten years");
        let now = Instant::now();
        for (delay, expected) in [
            (Duration::ZERO, Duration::ZERO),
            (Duration::from_secs(5), Duration::from_secs(5)),
            (MAX_DELAY, MAX_DELAY),
            (Duration::MAX, MAX_DELAY),
        ] {
            assert_eq!(after(now, delay) - now, expected);
        }
    }
}
