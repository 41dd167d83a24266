//! Which events are repetitions of one that was published already.

use super::event::{Event, EventType, Reference};
use ahash::AHashMap;
use std::time::Duration;
use tokio::time::Instant;

/// After so long without a repetition, a series is over and the next such event is a new one.
const SERIES_GAP: Duration = Duration::from_secs(6 * 60);
/// How many series a generation holds. Twice as many are remembered at most.
const GENERATION: usize = 2048;

/// What makes two events the same series: what client-go compares, but for the reporter, which is the same for all
/// events of a recorder.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct SeriesKey {
    type_: EventType,
    action: String,
    reason: String,
    regarding: Reference,
    secondary: Option<Reference>,
}

impl SeriesKey {
    pub(super) fn of(event: &Event, regarding: Reference) -> Self {
        Self {
            type_: event.type_,
            action: event.action.clone(),
            reason: event.reason.clone(),
            regarding,
            secondary: event.secondary.as_ref().map(Reference::from),
        }
    }
}

/// The latest series. No I/O and no clock in here.
///
/// Each operation costs O(1): what is old goes away by whole generations, one after each [`GENERATION`] of new series,
/// or after a time in which all of it has ended.
#[derive(Debug, Default)]
pub(super) struct Dedup {
    young: AHashMap<SeriesKey, Series>,
    old: AHashMap<SeriesKey, Series>,
    /// When `young` was begun.
    begun: Option<Instant>,
}

#[derive(Debug)]
struct Series {
    name: String,
    count: i32,
    last: Instant,
}

impl Dedup {
    /// The name of the published event that this one repeats, and how often it has happened by now.
    pub(super) fn repeat(&mut self, event: &SeriesKey, now: Instant) -> Option<(String, i32)> {
        self.age(now);
        if !self.young.contains_key(event) {
            let (key, series) = self.old.remove_entry(event)?;
            self.young.insert(key, series);
        }
        let series = self.young.get_mut(event)?;
        if now.duration_since(series.last) >= SERIES_GAP {
            self.young.remove(event);
            return None;
        }
        series.last = now;
        series.count = series.count.saturating_add(1);
        Some((series.name.clone(), series.count))
    }

    /// Notes that the event was published under this name.
    pub(super) fn published(&mut self, event: SeriesKey, name: String, now: Instant) {
        self.age(now);
        self.old.remove(&event);
        self.young.insert(event, Series { name, count: 1, last: now });
    }

    /// Begins a new generation if it is time.
    fn age(&mut self, now: Instant) {
        let begun = *self.begun.get_or_insert(now);
        if self.young.len() >= GENERATION || now.duration_since(begun) >= SERIES_GAP {
            self.old = std::mem::take(&mut self.young);
            self.begun = Some(now);
        }
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.young.len() + self.old.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::core::v1::ObjectReference;

    fn event(reason: &str) -> SeriesKey {
        let event = Event {
            type_: EventType::Normal,
            reason: reason.into(),
            note: None,
            action: "Test".into(),
            secondary: None,
        };
        SeriesKey::of(&event, Reference::from(&ObjectReference::default()))
    }

    fn minutes(start: Instant, minutes: u64) -> Instant {
        start + Duration::from_secs(60 * minutes)
    }

    #[test]
    fn repetitions_are_counted_until_the_series_is_over() {
        let start = Instant::now();
        let mut dedup = Dedup::default();
        assert_eq!(dedup.repeat(&event("A"), start), None);
        dedup.published(event("A"), "first".into(), start);
        assert_eq!(dedup.repeat(&event("A"), minutes(start, 5)), Some(("first".into(), 2)));
        assert_eq!(dedup.repeat(&event("B"), minutes(start, 5)), None);
        for (at, count) in [(10, 3), (15, 4), (20, 5), (25, 6)] {
            assert_eq!(dedup.repeat(&event("A"), minutes(start, at)), Some(("first".into(), count)));
        }
        assert_eq!(dedup.repeat(&event("A"), minutes(start, 31)), None);
        dedup.published(event("A"), "second".into(), minutes(start, 31));
        assert_eq!(dedup.repeat(&event("A"), minutes(start, 32)), Some(("second".into(), 2)));
    }

    #[test]
    fn series_that_are_over_cost_nothing_in_the_end() {
        let start = Instant::now();
        let mut dedup = Dedup::default();
        for n in 0..100 {
            dedup.published(event(&n.to_string()), String::new(), start);
        }
        assert_eq!(dedup.len(), 100);
        assert_eq!(dedup.repeat(&event("new"), minutes(start, 6)), None);
        assert_eq!(dedup.repeat(&event("new"), minutes(start, 12)), None);
        assert_eq!(dedup.len(), 0);
    }

    #[test]
    fn a_flood_of_series_is_forgotten_oldest_first() {
        let start = Instant::now();
        let mut dedup = Dedup::default();
        dedup.published(event("busy"), "busy".into(), start);
        for n in 0..100_000 {
            dedup.published(event(&n.to_string()), n.to_string(), start);
            assert!(dedup.len() <= 2 * GENERATION);
            assert!(dedup.repeat(&event("busy"), start).is_some(), "what repeats itself stays");
        }
        let remembered = |n: usize| {
            let event = event(&n.to_string());
            dedup.young.contains_key(&event) || dedup.old.contains_key(&event)
        };
        assert!((100_000 - GENERATION + 1..100_000).all(remembered), "the latest are remembered");
        assert_eq!(dedup.repeat(&event("0"), start), None);
    }
}
