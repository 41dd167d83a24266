//! Which lines of a log have been delivered, so that a new request continues behind them.

use std::hash::{DefaultHasher, Hash, Hasher};

use jiff::Timestamp;

/// The position in the log of one run of a container.
///
/// A server selects lines by time, in whole seconds: a request that continues gets the lines of the last second again. As many of them as
/// have been delivered are skipped, in their order, so that lines of equal time, or out of order, are neither lost nor repeated. Skipping
/// ends at the first line that is later than all delivered ones: then the log was rotated, and fewer lines of that second are left.
///
/// A request for the last lines only begins in the middle of a second. Its first line is remembered, and what a later request has before
/// that line is skipped without being counted.
#[derive(Debug, Default)]
pub(super) struct Position {
    delivered: Option<Delivered>,
    /// Lines that the current request repeats.
    skip: u64,
    start: Start,
    /// The current request has not come to the first line yet.
    before_start: bool,
}

#[derive(Clone, Copy, Debug)]
struct Delivered {
    /// The latest second of a delivered line.
    second: Timestamp,
    /// The number of delivered lines of this second and later.
    lines: u64,
    latest: Timestamp,
}

/// Where the delivered lines begin.
#[derive(Clone, Copy, Debug, Default)]
enum Start {
    /// With the first line of the log, or of a second.
    #[default]
    Whole,
    /// With the next line.
    Next,
    /// With this line, among others of the same time.
    Line { time: Timestamp, text: u64 },
}

impl Position {
    /// Starts a request. Returns the time from which on it has to read; `None` for the beginning.
    pub(super) fn start(&mut self) -> Option<Timestamp> {
        self.skip = self.delivered.map_or(0, |delivered| delivered.lines);
        self.before_start = matches!(self.start, Start::Line { .. });
        self.delivered.map(|delivered| delivered.second)
    }

    /// The request that was started is for the last lines only.
    pub(super) fn start_with_tail(&mut self) {
        self.start = Start::Next;
    }

    /// Whether a line with this time is new, in which case it counts as delivered. Lines without a time are those of the kubelet itself;
    /// they are always new.
    pub(super) fn accept(&mut self, time: Option<Timestamp>, text: &str) -> bool {
        let Some(time) = time else { return true };
        match self.start {
            Start::Next => self.start = Start::Line { time, text: hash(text) },
            Start::Line { time: first, text: first_text } if self.before_start => {
                if time < first || time == first && hash(text) != first_text {
                    return false;
                }
                self.before_start = false;
            }
            Start::Line { .. } | Start::Whole => {}
        }
        if self.skip > 0 && self.delivered.is_some_and(|delivered| time <= delivered.latest) {
            self.skip -= 1;
            return false;
        }
        self.skip = 0;
        let second = Timestamp::from_second(time.as_millisecond().div_euclid(1000)).unwrap_or(time);
        let delivered = self.delivered.get_or_insert(Delivered { second, lines: 0, latest: time });
        if second > delivered.second {
            *delivered = Delivered { second, lines: 0, latest: delivered.latest };
        }
        delivered.lines += u64::from(time >= delivered.second);
        delivered.latest = delivered.latest.max(time);
        true
    }
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(milliseconds: i64) -> Timestamp {
        Timestamp::from_millisecond(milliseconds).unwrap()
    }

    /// What a server returns of a log from a time on: in whole seconds.
    fn from_second(log: &[(i64, usize)], since: Option<Timestamp>) -> impl Iterator<Item = &(i64, usize)> {
        let since = since.map_or(i64::MIN, |since| since.as_second() * 1000);
        log.iter().filter(move |line| line.0 >= since)
    }

    proptest! {
        /// Whatever the times and the points of interruption: each line once, in order.
        #[test]
        fn interrupted_reads_deliver_each_line_once(
            steps in prop::collection::vec(prop_oneof![Just(0_i64), Just(1), -3_i64..400, 0_i64..3000], 1..60),
            interruptions in prop::collection::vec(0_usize..20, 0..8),
        ) {
            let mut time = 1_000_000;
            let log: Vec<(i64, usize)> = steps.iter().enumerate().map(|(i, step)| {
                time += step;
                (time, i)
            }).collect();
            // A line out of order that belongs to an earlier second is not selected again, and only then may it be lost.
            let mut latest = i64::MIN;
            prop_assume!(log.iter().all(|line| {
                latest = latest.max(line.0);
                line.0.div_euclid(1000) == latest.div_euclid(1000)
            }));
            let mut position = Position::default();
            let mut delivered = Vec::new();
            for count in interruptions.into_iter().chain([usize::MAX]) {
                let since = position.start();
                for line in from_second(&log, since).take(count) {
                    if position.accept(Some(at(line.0)), &line.1.to_string()) {
                        delivered.push(line.1);
                    }
                }
            }
            prop_assert_eq!(delivered, (0..log.len()).collect::<Vec<_>>());
        }
    }

    proptest! {
        /// Wherever the tail begins, among lines of one time too: each of its lines and of those after it once, in order.
        #[test]
        fn what_is_read_on_from_a_tail_begins_with_the_tail(
            steps in prop::collection::vec(prop_oneof![Just(0_i64), Just(1), 0_i64..400, 0_i64..3000], 1..40),
            tail in 1_usize..6,
            before in 1_usize..40,
            interruptions in prop::collection::vec(0_usize..20, 0..8),
        ) {
            let mut time = 1_000_000;
            let log: Vec<(i64, usize)> = steps.iter().enumerate().map(|(i, step)| {
                time += step;
                (time, i)
            }).collect();
            // The log as it is when the tail is read, and how much of that is received.
            let now = before.min(log.len());
            let first = now.saturating_sub(tail);
            let mut position = Position::default();
            position.start();
            position.start_with_tail();
            let mut delivered = Vec::new();
            let received = interruptions.first().map_or(usize::MAX, |count| count + 1);
            for line in log[first..now].iter().take(received) {
                prop_assert!(position.accept(Some(at(line.0)), &line.1.to_string()));
                delivered.push(line.1);
            }
            for count in interruptions.into_iter().chain([usize::MAX]) {
                let since = position.start();
                for line in from_second(&log, since).take(count) {
                    if position.accept(Some(at(line.0)), &line.1.to_string()) {
                        delivered.push(line.1);
                    }
                }
            }
            prop_assert_eq!(delivered, (first..log.len()).collect::<Vec<_>>());
        }
    }

    #[test]
    fn after_a_rotation_no_new_line_is_skipped() {
        let mut position = Position::default();
        assert_eq!(position.start(), None);
        for time in [1000, 1001, 1001, 1002] {
            assert!(position.accept(Some(at(time)), ""));
        }
        assert_eq!(position.start(), Some(at(1000)));
        // The first two lines have been rotated away.
        let new: Vec<bool> =
            [1001, 1002, 1003, 1003].map(|time| position.accept(Some(at(time)), "")).into_iter().collect();
        assert_eq!(new, [false, false, true, true]);
    }

    #[test]
    fn lines_without_a_time_are_always_new() {
        let mut position = Position::default();
        assert!(position.accept(None, ""));
        assert_eq!(position.start(), None);
        assert!(position.accept(None, ""));
    }
}
