//! Which events are repetitions of one that was published already.

use super::event::{Event, EventType, Reference};
use ahash::AHashMap;
use std::time::Duration;
use tokio::time::Instant;

/// After so long without a repetition, a series is over and the next such event is a new one.
const SERIES_GAP: Duration = Duration::from_secs(6 * 60);

/// What makes two events the same.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Sameness {
    type_: EventType,
    action: String,
    reason: String,
    note: Option<String>,
    regarding: Reference,
    secondary: Option<Reference>,
}

impl Sameness {
    pub(super) fn of(event: &Event, regarding: Reference) -> Self {
        Self {
            type_: event.type_,
            action: event.action.clone(),
            reason: event.reason.clone(),
            note: event.note.clone(),
            regarding,
            secondary: event.secondary.as_ref().map(Reference::from),
        }
    }
}

/// The series that are not over. No I/O and no clock in here.
#[derive(Debug, Default)]
pub(super) struct Dedup {
    series: AHashMap<Sameness, Series>,
}

#[derive(Debug)]
struct Series {
    name: String,
    count: i32,
    last: Instant,
}

impl Dedup {
    /// The name of the published event that this one repeats, and how often it has happened by now.
    pub(super) fn repeat(&mut self, event: &Sameness, now: Instant) -> Option<(String, i32)> {
        self.series.retain(|_, series| now.duration_since(series.last) < SERIES_GAP);
        let series = self.series.get_mut(event)?;
        series.last = now;
        series.count = series.count.saturating_add(1);
        Some((series.name.clone(), series.count))
    }

    /// Notes that the event was published under this name.
    pub(super) fn published(&mut self, event: Sameness, name: String, now: Instant) {
        self.series.insert(event, Series { name, count: 1, last: now });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::core::v1::ObjectReference;

    fn event(reason: &str) -> Sameness {
        let event = Event {
            type_: EventType::Normal,
            reason: reason.into(),
            note: None,
            action: "Test".into(),
            secondary: None,
        };
        Sameness::of(&event, Reference::from(&ObjectReference::default()))
    }

    #[test]
    fn repetitions_are_counted_until_the_series_is_over() {
        let start = Instant::now();
        let minutes = |minutes: u64| start + Duration::from_secs(60 * minutes);
        let mut dedup = Dedup::default();
        assert_eq!(dedup.repeat(&event("A"), start), None);
        dedup.published(event("A"), "first".into(), start);
        assert_eq!(dedup.repeat(&event("A"), minutes(5)), Some(("first".into(), 2)));
        assert_eq!(dedup.repeat(&event("B"), minutes(5)), None);
        assert_eq!(dedup.repeat(&event("A"), minutes(10)), Some(("first".into(), 3)));
        assert_eq!(dedup.repeat(&event("A"), minutes(16)), None);
        assert!(dedup.series.is_empty(), "series that are over cost nothing");
    }
}
