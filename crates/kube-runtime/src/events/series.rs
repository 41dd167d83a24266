//! Series of events: which event repeats one that was published already (client-go's event correlator).

use super::event::{Event, EventType, Reference};
use hashbrown::HashMap;
use std::time::Duration;
use tokio::time::Instant;

/// A series ends when its event is not repeated for this long; the next such event starts a new one.
const SERIES_GAP: Duration = Duration::from_secs(6 * 60);
/// The number of series per generation. The cache holds two generations.
const GENERATION_SIZE: usize = 2048;

/// Events with equal keys belong to one series. These are the fields that client-go compares, except the reporter, which
/// is the same for all events of a recorder.
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

/// The latest series, without I/O or clock.
///
/// Each operation costs O(1) amortized: old series are dropped a generation at a time, after [`GENERATION_SIZE`] new series or
/// once all series of the old generation have ended.
#[derive(Debug, Default)]
pub(super) struct SeriesCache {
    young: HashMap<SeriesKey, Series>,
    old: HashMap<SeriesKey, Series>,
    /// When the young generation started.
    young_since: Option<Instant>,
}

#[derive(Debug)]
struct Series {
    name: String,
    count: i32,
    last: Instant,
}

impl SeriesCache {
    /// Counts one more event of its series. Returns the name of the published event, and the new count; `None` if the event
    /// starts a new series.
    pub(super) fn record_repeat(&mut self, event: &SeriesKey, now: Instant) -> Option<(String, i32)> {
        self.rotate(now);
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

    /// Starts a series for an event that was published under this name.
    pub(super) fn record_published(&mut self, event: SeriesKey, name: String, now: Instant) {
        self.rotate(now);
        self.old.remove(&event);
        self.young.insert(event, Series { name, count: 1, last: now });
    }

    /// Starts a new generation if the young one is full or its time is over.
    fn rotate(&mut self, now: Instant) {
        let since = *self.young_since.get_or_insert(now);
        if self.young.len() >= GENERATION_SIZE || now.duration_since(since) >= SERIES_GAP {
            self.old = std::mem::take(&mut self.young);
            self.young_since = Some(now);
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
    fn repeated_events_are_counted_until_the_series_ends() {
        let start = Instant::now();
        let mut cache = SeriesCache::default();
        assert_eq!(cache.record_repeat(&event("A"), start), None);
        cache.record_published(event("A"), "first".into(), start);
        assert_eq!(cache.record_repeat(&event("A"), minutes(start, 5)), Some(("first".into(), 2)));
        assert_eq!(cache.record_repeat(&event("B"), minutes(start, 5)), None);
        for (at, count) in [(10, 3), (15, 4), (20, 5), (25, 6)] {
            assert_eq!(cache.record_repeat(&event("A"), minutes(start, at)), Some(("first".into(), count)));
        }
        assert_eq!(cache.record_repeat(&event("A"), minutes(start, 31)), None);
        cache.record_published(event("A"), "second".into(), minutes(start, 31));
        assert_eq!(cache.record_repeat(&event("A"), minutes(start, 32)), Some(("second".into(), 2)));
    }

    #[test]
    fn ended_series_are_dropped_from_memory() {
        let start = Instant::now();
        let mut cache = SeriesCache::default();
        for n in 0..100 {
            cache.record_published(event(&n.to_string()), String::new(), start);
        }
        assert_eq!(cache.len(), 100);
        assert_eq!(cache.record_repeat(&event("new"), minutes(start, 6)), None);
        assert_eq!(cache.record_repeat(&event("new"), minutes(start, 12)), None);
        assert_eq!(cache.len(), 0);
    }

    #[test]
    fn the_cache_is_bounded_and_drops_the_least_recent_series() {
        let start = Instant::now();
        let mut cache = SeriesCache::default();
        cache.record_published(event("busy"), "busy".into(), start);
        for n in 0..100_000 {
            cache.record_published(event(&n.to_string()), n.to_string(), start);
            assert!(cache.len() <= 2 * GENERATION_SIZE);
            assert!(
                cache.record_repeat(&event("busy"), start).is_some(),
                "a series that is repeated is kept"
            );
        }
        let cached = |n: usize| {
            let event = event(&n.to_string());
            cache.young.contains_key(&event) || cache.old.contains_key(&event)
        };
        assert!((100_000 - GENERATION_SIZE + 1..100_000).all(cached), "the latest series are kept");
        assert_eq!(cache.record_repeat(&event("0"), start), None);
    }
}
