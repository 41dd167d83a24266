//! Delays: added to instants without overflow, and waited for.
//!
//! `Instant + Duration` panics on overflow, and users pass `Duration::MAX` to mean "never".

use std::{future::pending, time::Duration};
use tokio::time::{Instant, sleep_until};

/// Longer delays are capped at ten years.
pub(crate) const MAX_DELAY: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);

/// `now` plus `delay`, which is capped at [`MAX_DELAY`].
pub(crate) fn after(now: Instant, delay: Duration) -> Instant {
    now + delay.min(MAX_DELAY)
}

/// Sleeps until `due`; for ever without one. A timer is made only if this is polled.
pub(crate) async fn until(due: Option<Instant>) {
    match due {
        Some(due) => sleep_until(due).await,
        None => pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_are_added_and_capped() {
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
