//! When to run discovery: after changes of definitions, and otherwise not at all. No I/O, no clock.

use std::{collections::VecDeque, time::Duration};
use tokio::time::Instant;

/// How long after a change discovery runs. A server publishes a definition that it has accepted within seconds, and no event tells when.
const AFTER_CHANGE: [Duration; 4] =
    [Duration::from_millis(100), Duration::from_secs(1), Duration::from_secs(3), Duration::from_secs(10)];

/// When it runs once more if a kind is missing although its group has a definition: servers of aggregated APIs, and several API servers,
/// may need longer.
const WHILE_MISSING: [Duration; 2] = [Duration::from_secs(30), Duration::from_secs(60)];

/// How often discovery runs while the definitions cannot be watched.
pub(super) const WITHOUT_WATCH: Duration = Duration::from_secs(60);

/// The longest wait after a failure of discovery.
const LONGEST_RETRY: Duration = Duration::from_secs(30);

/// What discovery said of the kinds that are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Answer {
    AllServed,
    SomeMissing,
    /// It failed, or cannot say yet what becomes of some.
    Unclear,
}

/// The next runs of discovery.
#[derive(Debug)]
pub(super) struct Schedule {
    /// In order; the first is the next one.
    due: VecDeque<Instant>,
    /// The same, if a kind is missing then.
    if_missing: VecDeque<Instant>,
    /// Whether a watch of definitions is refused or missing.
    is_blind: bool,
    failures: u32,
}

impl Schedule {
    /// The first run is due now.
    pub(super) fn new(now: Instant) -> Self {
        Self { due: [now].into(), if_missing: VecDeque::new(), is_blind: false, failures: 0 }
    }

    /// A definition changed. Changes in quick succession do not delay the next run.
    pub(super) fn changed(&mut self, now: Instant) {
        let first = self.due.front().copied().filter(|due| *due <= now + AFTER_CHANGE[0]);
        let later = AFTER_CHANGE.iter().skip(usize::from(first.is_some())).map(|after| now + *after);
        self.due = first.into_iter().chain(later).collect();
    }

    /// A definition was created or changed, so that its kinds will be served.
    pub(super) fn defined(&mut self, now: Instant) {
        self.changed(now);
        self.if_missing = WHILE_MISSING.iter().map(|after| now + *after).collect();
    }

    /// Somebody asks for a kind for the first time.
    pub(super) fn asked(&mut self, now: Instant) {
        if self.due.front().is_none_or(|due| *due > now) {
            self.due.push_front(now);
        }
    }

    /// Whether the definitions are watched.
    pub(super) fn set_blind(&mut self, is_blind: bool, now: Instant) {
        self.is_blind = is_blind;
        if is_blind && self.due.is_empty() {
            self.due.push_back(now + WITHOUT_WATCH);
        }
    }

    pub(super) fn next(&self) -> Option<Instant> {
        self.due.front().or(self.if_missing.front()).copied()
    }

    /// Discovery has run.
    pub(super) fn discovered(&mut self, answer: Answer, now: Instant) {
        for due in [&mut self.due, &mut self.if_missing] {
            while due.front().is_some_and(|due| *due <= now) {
                due.pop_front();
            }
        }
        if answer == Answer::AllServed {
            self.if_missing.clear();
        }
        if answer != Answer::Unclear {
            self.failures = 0;
        } else {
            let wait = Duration::from_secs(1).saturating_mul(1 << self.failures.min(5)).min(LONGEST_RETRY);
            self.failures += 1;
            self.due.retain(|due| *due > now + wait);
            self.due.push_front(now + wait);
        }
        if self.is_blind && self.due.is_empty() {
            self.due.push_back(now + WITHOUT_WATCH);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The times of all runs up to a limit, in milliseconds, if each takes no time.
    fn runs(schedule: &mut Schedule, start: Instant, limit: u64, succeeds: bool) -> Vec<u128> {
        runs_with(schedule, start, limit, if succeeds { Answer::AllServed } else { Answer::Unclear })
    }

    fn runs_with(schedule: &mut Schedule, start: Instant, limit: u64, answer: Answer) -> Vec<u128> {
        let mut times = Vec::new();
        while let Some(due) = schedule.next().filter(|due| *due <= start + Duration::from_millis(limit)) {
            times.push((due - start).as_millis());
            schedule.discovered(answer, due);
        }
        times
    }

    #[test]
    fn discovery_runs_a_few_times_after_a_change_and_then_never() {
        let start = Instant::now();
        let mut schedule = Schedule::new(start);
        assert_eq!(runs(&mut schedule, start, 1_000_000, true), [0]);
        schedule.changed(start);
        assert_eq!(runs(&mut schedule, start, 1_000_000, true), [100, 1000, 3000, 10_000]);
        schedule.asked(start);
        assert_eq!(runs(&mut schedule, start, 1_000_000, true), [0]);
    }

    #[test]
    fn a_kind_that_is_missing_although_it_is_defined_is_asked_for_twice_more() {
        let start = Instant::now();
        for (answer, expected) in [
            (Answer::SomeMissing, &[100, 1000, 3000, 10_000, 30_000, 60_000][..]),
            (Answer::AllServed, &[100, 1000, 3000, 10_000]),
        ] {
            let mut schedule = Schedule::new(start);
            schedule.discovered(answer, start);
            schedule.defined(start);
            assert_eq!(runs_with(&mut schedule, start, 1_000_000, answer), expected);
        }
    }

    #[test]
    fn changes_all_the_time_do_not_put_discovery_off() {
        let start = Instant::now();
        let mut schedule = Schedule::new(start);
        schedule.discovered(Answer::AllServed, start);
        let mut times = Vec::new();
        for time in (0..1000).step_by(20) {
            schedule.changed(start + Duration::from_millis(time));
            times.extend(runs(&mut schedule, start, time, true));
        }
        assert!(times.len() >= 8, "{times:?}");
    }

    #[test]
    fn failures_are_retried_ever_more_seldom_and_a_blind_schedule_asks_every_minute() {
        let start = Instant::now();
        let mut schedule = Schedule::new(start);
        let failing = runs(&mut schedule, start, 100_000, false);
        assert_eq!(failing, [0, 1000, 3000, 7000, 15_000, 31_000, 61_000, 91_000]);
        let mut schedule = Schedule::new(start);
        schedule.set_blind(true, start);
        assert_eq!(runs(&mut schedule, start, 200_000, true), [0, 60_000, 120_000, 180_000]);
        schedule.set_blind(false, start);
        assert_eq!(runs(&mut schedule, start, 1_000_000, true), [240_000], "the last one that was due");
    }
}
