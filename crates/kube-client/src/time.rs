//! The wall clock, which tests with paused time can move.

use std::time::{Instant as StdInstant, SystemTime};

use jiff::Timestamp;
use tokio::time::Instant;

/// The time of day, as objects have it. In a tokio runtime with paused time it stands still too, and moves with `tokio::time::advance` and
/// with sleeps, so a test sees a `lastTransitionTime` an hour later without waiting for an hour.
///
/// Between two calls without a step of paused time it may move by microseconds. It is the system's clock, which may be set back: measure
/// durations with [`tokio::time::Instant`].
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap().block_on(async {
/// use std::time::Duration;
///
/// let before = kube_client::time::now();
/// tokio::time::sleep(Duration::from_secs(3600)).await;
/// let passed = kube_client::time::now().duration_since(before);
/// assert!((3599..=3601).contains(&passed.as_secs()));
/// # });
/// ```
pub fn now() -> Timestamp {
    let (real, system, tokio) = (StdInstant::now(), SystemTime::now(), Instant::now().into_std());
    // How far paused time is ahead of, or behind, the clock that goes on. Nothing without paused time.
    let moved =
        if tokio >= real { system.checked_add(tokio - real) } else { system.checked_sub(real - tokio) };
    moved.and_then(|time| Timestamp::try_from(time).ok()).unwrap_or_else(Timestamp::now)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn it_stands_still_and_moves_with_paused_time() {
        let close = |one: Timestamp, other: Timestamp| one.duration_since(other).as_millis().abs() < 50;
        let before = now();
        std::thread::sleep(Duration::from_millis(120));
        assert!(close(now(), before), "it stands still");
        tokio::time::advance(Duration::from_secs(86_400)).await;
        assert!(close(now(), before.checked_add(jiff::SignedDuration::from_hours(24)).unwrap()));
        tokio::time::resume();
    }

    #[test]
    fn without_a_runtime_it_is_the_time_of_the_system() {
        assert!(now().duration_since(Timestamp::now()).as_millis().abs() < 1_000);
    }
}
