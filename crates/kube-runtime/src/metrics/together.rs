//! Gauges of several controllers with one name: the sum, or the largest, of what each of them has. No recorder.

use parking_lot::Mutex;
use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::Duration,
};

/// Several controllers with one name, which are one in metrics. Clones are the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct Together(Arc<Mutex<All>>);

/// What a controller has; or, of several: the sum of the unfinished work, and the largest of all else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Measurement {
    /// `usize::MAX`: no limit.
    pub(super) max_concurrent: usize,
    pub(super) unfinished: Duration,
    pub(super) longest: Duration,
    pub(super) deepest_lane: usize,
    pub(super) longest_lane_wait: Duration,
}

#[derive(Debug, Default)]
struct All {
    max_concurrent: Largest<usize>,
    unfinished: Duration,
    longest: Largest<Duration>,
    deepest_lane: Largest<usize>,
    longest_lane_wait: Largest<Duration>,
    /// Ages of watches, by kind.
    ages: HashMap<Box<str>, Largest<Duration>>,
}

impl Together {
    /// One of them has `new`, and had `own` before. `show` is called with what all have, in the order of the changes. O(log controllers).
    pub(super) fn replace(&self, own: &Mutex<Measurement>, new: Measurement, show: impl FnOnce(Measurement)) {
        let mut all = self.0.lock();
        let old = std::mem::replace(&mut *own.lock(), new);
        show(all.replace(old, new));
    }

    /// The same for the age of a watch of this kind.
    pub(super) fn replace_age(
        &self,
        kind: &str,
        own: &Mutex<Duration>,
        new: Duration,
        show: impl FnOnce(Duration),
    ) {
        let mut all = self.0.lock();
        let old = std::mem::replace(&mut *own.lock(), new);
        show(all.ages.entry(kind.into()).or_default().replace(old, new));
    }
}

impl All {
    fn replace(&mut self, old: Measurement, new: Measurement) -> Measurement {
        self.unfinished = (self.unfinished + new.unfinished).saturating_sub(old.unfinished);
        Measurement {
            max_concurrent: self.max_concurrent.replace(old.max_concurrent, new.max_concurrent),
            unfinished: self.unfinished,
            longest: self.longest.replace(old.longest, new.longest),
            deepest_lane: self.deepest_lane.replace(old.deepest_lane, new.deepest_lane),
            longest_lane_wait: self.longest_lane_wait.replace(old.longest_lane_wait, new.longest_lane_wait),
        }
    }
}

/// The largest of the values that several have. What has the default takes no memory.
#[derive(Debug, Default)]
struct Largest<T>(BTreeMap<T, usize>);

impl<T: Ord + Copy + Default> Largest<T> {
    /// One of them has `new` instead of `old`. Returns the largest then.
    fn replace(&mut self, old: T, new: T) -> T {
        if old != new {
            if let Some(count) = self.0.get_mut(&old) {
                *count -= 1;
                if *count == 0 {
                    self.0.remove(&old);
                }
            }
            if new != T::default() {
                *self.0.entry(new).or_default() += 1;
            }
        }
        self.0.last_key_value().map(|(largest, _)| *largest).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn work_is_added_up_and_of_all_else_the_largest_counts() {
        let (together, shown) = (Together::default(), Cell::new(Measurement::default()));
        let (one, two) = (Mutex::default(), Mutex::default());
        let measured = |own, unfinished, longest, deepest_lane, max_concurrent| {
            let (unfinished, longest) = (seconds(unfinished), seconds(longest));
            let longest_lane_wait = longest;
            let new = Measurement { max_concurrent, unfinished, longest, deepest_lane, longest_lane_wait };
            together.replace(own, new, |all| shown.set(all));
            let Measurement { max_concurrent, unfinished, longest, deepest_lane, .. } = shown.get();
            (unfinished.as_secs(), longest.as_secs(), deepest_lane, max_concurrent)
        };
        assert_eq!(measured(&one, 3, 2, 7, 8), (3, 2, 7, 8));
        assert_eq!(measured(&two, 4, 4, 1, 8), (7, 4, 7, 8));
        assert_eq!(measured(&two, 5, 1, 1, 8), (8, 2, 7, 8), "what one had before does not count any more");
        assert_eq!(measured(&one, 0, 0, 0, 0), (5, 1, 1, 8));
        assert_eq!(measured(&two, 0, 0, 0, 0), (0, 0, 0, 0));
        let all = together.0.lock();
        assert!(all.longest.0.is_empty() && all.max_concurrent.0.is_empty(), "nothing is kept");
    }

    #[test]
    fn the_age_of_a_kind_is_that_of_the_watch_that_is_silent_for_longest() {
        let (together, shown) = (Together::default(), Cell::new(Duration::ZERO));
        let (one, two, other) = (Mutex::default(), Mutex::default(), Mutex::default());
        let age = |kind, own, age| {
            together.replace_age(kind, own, seconds(age), |all| shown.set(all));
            shown.get().as_secs()
        };
        assert_eq!((age("Pod", &one, 5), age("Pod", &two, 5), age("Node", &other, 1)), (5, 5, 1));
        assert_eq!((age("Pod", &one, 0), age("Pod", &two, 3)), (5, 3));
        assert_eq!(age("Pod", &two, 0), 0);
    }
}
