//! The server's clock: the wall clock or a chosen time at start, plus tokio's clock since, plus what it was advanced by. Paused time moves
//! it, and so does `advance`.

use std::{sync::Arc, time::Duration};

use jiff::{Timestamp, tz::TimeZone};
use serde_json::Value;
use tokio::{sync::watch, time::Instant};

/// A clock; clones share its time.
#[derive(Clone, Debug)]
pub(crate) struct Clock {
    wall: Timestamp,
    start: Instant,
    advanced: Arc<watch::Sender<Duration>>,
}

impl Clock {
    /// Starts at this time; by default now.
    pub(crate) fn new(start: Option<Timestamp>) -> Self {
        let wall = start.unwrap_or_else(Timestamp::now);
        Self { wall, start: Instant::now(), advanced: Arc::default() }
    }

    /// Whether this time can be written as a `metadata` timestamp, whose year has four digits and no sign.
    pub(crate) fn can_start_at(start: Timestamp) -> bool {
        start.to_zoned(TimeZone::UTC).year() >= 0
    }

    /// The current time as a `metadata` timestamp: whole seconds, UTC.
    pub(crate) fn now(&self) -> String {
        self.timestamp().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
    }

    /// The current time.
    pub(crate) fn timestamp(&self) -> Timestamp {
        self.wall.checked_add(self.elapsed()).unwrap_or(Timestamp::MAX)
    }

    /// The time since the server started; monotonic.
    pub(crate) fn elapsed(&self) -> Duration {
        self.start.elapsed().saturating_add(*self.advanced.borrow())
    }

    /// Advances the clock and wakes the sleepers that are due.
    pub(crate) fn advance(&self, by: Duration) {
        self.advanced.send_if_modified(|advanced| {
            *advanced = advanced.saturating_add(by);
            !by.is_zero()
        });
    }

    /// Sleeps until this much time has passed since the server started.
    pub(crate) async fn sleep_until(&self, at: Duration) {
        let mut advanced = self.advanced.subscribe();
        loop {
            let left = at.saturating_sub(self.start.elapsed().saturating_add(*advanced.borrow_and_update()));
            if left.is_zero() {
                return;
            }
            tokio::select! {
                biased;
                () = tokio::time::sleep(left) => {}
                // Cannot fail: this clock owns the sender.
                _ = advanced.changed() => {}
            }
        }
    }

    /// Sleeps for this long from now.
    pub(crate) async fn sleep(&self, time: Duration) {
        self.sleep_until(self.elapsed().saturating_add(time)).await;
    }
}

/// A timestamp of an object.
pub(crate) fn time(text: &Value) -> Option<Timestamp> {
    text.as_str()?.parse().ok()
}

/// The seconds until `limit` seconds have passed `since` a time; 0 once they have. `None` if one of the times is not known.
pub(crate) fn seconds_left(limit: u64, since: Option<Timestamp>, now: Option<Timestamp>) -> Option<u64> {
    let end = since?.as_second().saturating_add_unsigned(limit);
    Some(u64::try_from(end.saturating_sub(now?.as_second())).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_in_the_future_is_awaited() {
        let at = |second| Timestamp::from_second(second).ok();
        let left = |since, now| seconds_left(10, at(since), at(now));
        assert_eq!([left(100, 100), left(100, 107), left(100, 110), left(100, 999)], [10, 3, 0, 0].map(Some));
        assert_eq!(
            (left(105, 100), seconds_left(u64::MAX, at(5), at(5))),
            (Some(15), Some(i64::MAX.unsigned_abs() - 5))
        );
        assert_eq!((seconds_left(10, None, at(5)), seconds_left(10, at(5), None)), (None, None));
    }

    #[test]
    fn an_advance_of_nothing_wakes_nobody() {
        let clock = Clock::new(None);
        let sleeper = clock.advanced.subscribe();
        clock.advance(Duration::ZERO);
        assert!(!sleeper.has_changed().unwrap());
        clock.advance(Duration::from_secs(1));
        assert!(sleeper.has_changed().unwrap());
    }

    #[tokio::test(start_paused = true)]
    async fn timestamps_are_whole_seconds_in_utc() {
        let clock = Clock::new(Some("2026-11-20T10:00:00.9Z".parse().unwrap()));
        assert_eq!(clock.now(), "2026-11-20T10:00:00Z");
        tokio::time::advance(Duration::from_millis(100)).await;
        assert_eq!(clock.now(), "2026-11-20T10:00:01Z");
        clock.advance(Duration::from_secs(3600));
        assert_eq!(clock.now(), "2026-11-20T11:00:01Z");
        clock.advance(Duration::MAX);
        assert!(clock.now().starts_with("9999-"));
    }

    #[tokio::test(start_paused = true)]
    async fn sleepers_wake_when_the_clock_advances() {
        let clock = Clock::new(None);
        let sleeper = tokio::spawn({
            let clock = clock.clone();
            async move { clock.sleep(Duration::from_secs(60)).await }
        });
        tokio::time::sleep(Duration::from_secs(1)).await;
        clock.advance(Duration::from_secs(58));
        tokio::time::sleep(Duration::from_millis(900)).await;
        assert!(!sleeper.is_finished());
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert!(sleeper.is_finished());
    }
}
