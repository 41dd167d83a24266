//! The server's time: the wall clock at start plus tokio's clock since, so paused time moves it.

use std::time::Duration;

use jiff::Timestamp;
use tokio::time::Instant;

#[derive(Clone, Debug)]
pub(crate) struct Clock {
    wall: Timestamp,
    start: Instant,
}

impl Clock {
    pub(crate) fn new() -> Self {
        Self { wall: Timestamp::now(), start: Instant::now() }
    }

    /// Now, as `metadata` timestamps are written: whole seconds, UTC.
    pub(crate) fn now(&self) -> String {
        self.at(self.start.elapsed())
    }

    fn at(&self, since_start: Duration) -> String {
        let now = self.wall.checked_add(since_start).unwrap_or(Timestamp::MAX);
        now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_are_whole_seconds_in_utc() {
        let clock = Clock { wall: "2026-11-20T10:00:00.9Z".parse().unwrap(), start: Instant::now() };
        assert_eq!(clock.at(Duration::ZERO), "2026-11-20T10:00:00Z");
        assert_eq!(clock.at(Duration::from_millis(100)), "2026-11-20T10:00:01Z");
        assert!(clock.at(Duration::MAX).starts_with("9999-"));
    }
}
