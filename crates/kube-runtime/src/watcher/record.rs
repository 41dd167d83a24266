//! What is known about the watches of a controller, for its monitors.
//!
//! The shell of a watcher writes a [`WatchRecord`] after each step; monitors read it at any time. Both hold its lock for a few
//! assignments.

use super::{
    CollectionEvent,
    machine::{Input, Next, Read, Step},
    retry::RetryBackoff,
};
use crate::{
    delay::after,
    metrics::{WatchMeasurement, WatchMetrics},
};
use kube_client::client::ListPart;
use kube_core::WatchEvent;
use parking_lot::Mutex;
use serde::Serialize;
use std::{
    sync::{Arc, OnceLock, Weak},
    time::Duration,
};
use tokio::time::Instant;

/// What a watch does now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum WatchState {
    /// It requests or receives a list.
    Listing,
    /// It requests a watch, after a list or after the previous watch ended.
    Connecting,
    /// It receives changes.
    Watching,
    /// It waits after a failure.
    BackingOff,
}

/// How a watch retries, and where it is registered.
pub(crate) struct WatchSettings {
    pub(super) retry: RetryBackoff,
    registration: Option<(Arc<WatchRegistry>, String)>,
}

impl From<RetryBackoff> for WatchSettings {
    fn from(retry: RetryBackoff) -> Self {
        Self { retry, registration: None }
    }
}

impl WatchSettings {
    /// Settings of a watch that `registry` shows as one of this kind.
    pub(crate) fn registered(retry: RetryBackoff, registry: Arc<WatchRegistry>, kind: String) -> Self {
        Self { retry, registration: Some((registry, kind)) }
    }

    pub(super) fn register(&self, namespace: Option<&str>) -> Option<Arc<WatchRecord>> {
        let (registry, kind) = self.registration.as_ref()?;
        Some(registry.add(kind, namespace))
    }
}

/// The watches of one controller.
#[derive(Debug, Default)]
pub(crate) struct WatchRegistry {
    watches: Mutex<Vec<Weak<WatchRecord>>>,
    /// The name of the controller, once it runs.
    controller: OnceLock<Arc<str>>,
}

impl WatchRegistry {
    /// Sets the name of the controller, before its first watch.
    pub(crate) fn set_controller(&self, name: &Arc<str>) {
        self.controller.get_or_init(|| Arc::clone(name));
    }

    fn add(&self, kind: &str, namespace: Option<&str>) -> Arc<WatchRecord> {
        let record = Arc::new(WatchRecord {
            kind: kind.to_owned(),
            namespace: namespace.map(str::to_owned),
            facts: Mutex::new(WatchFacts::new(Instant::now())),
            metrics: WatchMetrics::new(self.controller.get().map_or("", |name| name), kind),
        });
        let mut watches = self.watches.lock();
        watches.retain(|watch| watch.strong_count() > 0);
        watches.push(Arc::downgrade(&record));
        record
    }

    /// The watches that have not been dropped, in the order in which they were made.
    pub(crate) fn watches(&self) -> Vec<Arc<WatchRecord>> {
        self.watches.lock().iter().filter_map(Weak::upgrade).collect()
    }
}

/// One watch.
#[derive(Debug)]
pub(crate) struct WatchRecord {
    pub(crate) kind: String,
    /// `None` for all namespaces, and for cluster-scoped kinds.
    pub(crate) namespace: Option<String>,
    facts: Mutex<WatchFacts>,
    pub(crate) metrics: WatchMetrics,
}

impl WatchRecord {
    /// The facts at this time.
    pub(crate) fn facts(&self) -> WatchFacts {
        self.facts.lock().clone()
    }

    pub(super) fn requesting(&self, next: &Next) {
        let state = match next {
            Next::List(_) => WatchState::Listing,
            Next::Watch(params, _) if params.send_initial_events => WatchState::Listing,
            Next::Watch(..) | Next::CheckVersion => WatchState::Connecting,
            Next::ReadList | Next::Read { .. } => return,
        };
        self.facts.lock().state = state;
    }

    /// `bytes`: received by the watch so far.
    pub(super) fn stepped<K>(&self, received: Received, step: &Step<K>, bytes: u64, now: Instant) {
        let (first, last) = (step.emit.first(), step.emit.last());
        let lists = matches!(first, Some(Ok(CollectionEvent::Init)));
        let synced = matches!(last, Some(Ok(CollectionEvent::Synced { .. })));
        let error = match last {
            Some(Err(error)) => Some(error.to_string()),
            _ => None,
        };
        let outcome = StepOutcome { lists, bytes, synced, error, wait: step.wait };
        let measurement = self.facts.lock().step(received, outcome, now);
        self.metrics.record(measurement);
    }
}

impl Drop for WatchRecord {
    fn drop(&mut self) {
        let gone = WatchMeasurement {
            objects: self.facts.get_mut().objects_delta(0),
            ..WatchMeasurement::default()
        };
        self.metrics.record(gone);
        // Another watch of the same kind sets it again.
        self.metrics.set_age(Duration::ZERO);
    }
}

/// What the server sent in a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Received {
    /// So many objects of a page.
    Items(usize),
    /// The end of a page.
    Page,
    /// The head of a watch response.
    Opened,
    Version,
    Added,
    Modified,
    Deleted,
    Bookmark,
    /// An error, the end of a response, or nothing for too long.
    Failure,
}

impl Received {
    /// The value of the label `type` of the metric.
    fn event(self) -> Option<&'static str> {
        match self {
            Self::Added => Some("added"),
            Self::Modified => Some("modified"),
            Self::Deleted => Some("deleted"),
            Self::Bookmark => Some("bookmark"),
            Self::Items(_) | Self::Page | Self::Opened | Self::Version | Self::Failure => None,
        }
    }

    pub(super) fn of<K: Clone>(input: &Input<K>) -> Self {
        match input {
            Input::Listed(Ok(ListPart::Items(items))) => Self::Items(items.len()),
            Input::Listed(Ok(ListPart::End(_))) => Self::Page,
            Input::VersionChecked(Ok(_)) => Self::Version,
            Input::WatchStarted(Ok(())) => Self::Opened,
            Input::Read(Read::Message(message)) => match message {
                WatchEvent::Added(_) => Self::Added,
                WatchEvent::Modified(_) => Self::Modified,
                WatchEvent::Deleted(_) => Self::Deleted,
                WatchEvent::Bookmark(_) => Self::Bookmark,
                WatchEvent::Error(_) => Self::Failure,
            },
            Input::Listed(Err(_)) | Input::VersionChecked(Err(_)) | Input::WatchStarted(Err(_)) => {
                Self::Failure
            }
            Input::Read(Read::Failed(_) | Read::Closed | Read::IdleTimeout) => Self::Failure,
        }
    }
}

/// What a step led to.
#[derive(Debug, Default)]
struct StepOutcome {
    /// Whether a list started.
    lists: bool,
    /// The bytes of all responses so far.
    bytes: u64,
    /// Whether a list was completed.
    synced: bool,
    error: Option<String>,
    /// The wait before the next request.
    wait: Duration,
}

/// What is known about a watch. No I/O, no clock.
#[derive(Debug, Clone)]
pub(crate) struct WatchFacts {
    /// When the watch was made.
    pub(crate) since: Instant,
    pub(crate) state: WatchState,
    /// When the watcher did anything last: received, failed or timed out.
    stepped: Instant,
    /// The wait after that.
    wait: Duration,
    /// When the server sent anything but an error last.
    pub(crate) received: Option<Instant>,
    pub(crate) last_error: Option<(Instant, String)>,
    /// Whether a list was completed.
    pub(crate) synced: bool,
    /// The number of objects that the server has.
    pub(crate) objects: usize,
    /// The bytes of all lists and watches.
    pub(crate) bytes: u64,
    /// How many lists started, and how many watches were opened.
    pub(crate) lists: u64,
    pub(crate) watches: u64,
    /// The number of objects of the running list, without those of the current page.
    listed: Option<usize>,
    /// The number of objects of the current page so far.
    page: usize,
}

impl WatchFacts {
    fn new(now: Instant) -> Self {
        Self {
            since: now,
            state: WatchState::Listing,
            stepped: now,
            wait: Duration::ZERO,
            received: None,
            last_error: None,
            synced: false,
            objects: 0,
            bytes: 0,
            lists: 0,
            watches: 0,
            listed: None,
            page: 0,
        }
    }

    /// Until when the watcher did something or waited on purpose.
    pub(crate) fn busy_until(&self) -> Instant {
        after(self.stepped, self.wait)
    }

    /// By how much the number of objects has to change to be `after`.
    fn objects_delta(&self, after: usize) -> i64 {
        i64::try_from(after).unwrap_or(i64::MAX) - i64::try_from(self.objects).unwrap_or(i64::MAX)
    }

    fn step(&mut self, received: Received, outcome: StepOutcome, now: Instant) -> WatchMeasurement {
        let before = self.objects;
        let mut measurement = WatchMeasurement {
            event: received.event(),
            failed: outcome.error.is_some(),
            restarted: received == Received::Opened && self.watches > 0,
            relisted: outcome.lists && self.lists > 0,
            objects: 0,
            bytes: outcome.bytes.saturating_sub(self.bytes),
        };
        self.bytes = outcome.bytes;
        (self.stepped, self.wait) = (now, outcome.wait);
        if received != Received::Failure {
            self.received = Some(now);
        }
        if outcome.lists {
            self.lists += 1;
            self.listed = Some(0);
        }
        let objects = self.listed.as_mut().unwrap_or(&mut self.objects);
        match received {
            Received::Items(items) => self.page += items,
            // The page is requested again.
            Received::Failure => self.page = 0,
            Received::Page => *objects += std::mem::take(&mut self.page),
            Received::Added => *objects += 1,
            Received::Deleted => *objects = objects.saturating_sub(1),
            Received::Opened => {
                self.watches += 1;
                if self.listed.is_none() {
                    self.state = WatchState::Watching;
                }
            }
            Received::Modified | Received::Bookmark | Received::Version => {}
        }
        if outcome.synced {
            self.synced = true;
            self.objects = self.listed.take().unwrap_or(self.objects);
            if received != Received::Page {
                self.state = WatchState::Watching; // a streaming list goes on as a watch
            }
        }
        if let Some(error) = outcome.error {
            self.last_error = Some((now, error));
        }
        if !outcome.wait.is_zero() {
            self.state = WatchState::BackingOff;
        }
        measurement.objects = -self.objects_delta(before);
        measurement
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kube_core::params::{ListParams, WatchParams};

    fn listing() -> StepOutcome {
        StepOutcome { lists: true, ..StepOutcome::default() }
    }

    fn synced() -> StepOutcome {
        StepOutcome { synced: true, ..StepOutcome::default() }
    }

    fn failed(error: &str, seconds: u64) -> StepOutcome {
        StepOutcome {
            error: Some(error.into()),
            wait: Duration::from_secs(seconds),
            ..StepOutcome::default()
        }
    }

    #[test]
    fn pages_and_changes_are_counted_and_a_relist_replaces_the_number_when_it_is_complete() {
        let t = Instant::now();
        let mut facts = WatchFacts::new(t);
        facts.step(Received::Items(2), listing(), t);
        facts.step(Received::Page, StepOutcome::default(), t);
        assert!(!facts.synced && facts.objects == 0);
        facts.step(Received::Items(3), StepOutcome::default(), t);
        facts.step(Received::Page, synced(), t);
        assert!(facts.synced && facts.objects == 5);
        facts.step(Received::Opened, StepOutcome::default(), t);
        assert_eq!(facts.state, WatchState::Watching);
        for received in
            [Received::Added, Received::Modified, Received::Bookmark, Received::Added, Received::Deleted]
        {
            facts.step(received, StepOutcome::default(), t);
        }
        assert_eq!(facts.objects, 6);
        facts.step(Received::Items(1), listing(), t);
        facts.step(Received::Page, StepOutcome::default(), t);
        assert_eq!(facts.objects, 6, "until the relist is complete");
        facts.step(Received::Items(1), listing(), t);
        facts.step(Received::Page, StepOutcome::default(), t);
        facts.step(Received::Items(3), StepOutcome::default(), t);
        facts.step(Received::Failure, failed("reset", 1), t);
        facts.step(Received::Items(1), StepOutcome::default(), t);
        facts.step(Received::Page, synced(), t);
        assert_eq!(
            (facts.objects, facts.lists, facts.watches),
            (2, 3, 1),
            "a list that started over counts from 0, and a page that broke off counts once"
        );
    }

    #[test]
    fn a_streaming_list_becomes_a_watch() {
        let t = Instant::now();
        let mut facts = WatchFacts::new(t);
        facts.step(Received::Opened, listing(), t);
        facts.step(Received::Added, StepOutcome::default(), t);
        assert_eq!((facts.state, facts.synced), (WatchState::Listing, false));
        facts.step(Received::Bookmark, synced(), t);
        assert_eq!((facts.state, facts.synced, facts.objects), (WatchState::Watching, true, 1));
    }

    #[test]
    fn a_failure_is_progress_of_the_watcher_and_not_of_the_server() {
        let t = Instant::now();
        let mut facts = WatchFacts::new(t);
        facts.step(Received::Items(1), listing(), t);
        facts.step(Received::Page, synced(), t);
        let later = t + Duration::from_secs(9);
        facts.step(Received::Failure, failed("403", 1), later);
        assert_eq!((facts.state, facts.received), (WatchState::BackingOff, Some(t)));
        assert_eq!(facts.busy_until(), later + Duration::from_secs(1), "it waits on purpose");
        assert_eq!(facts.last_error, Some((later, "403".into())));
        facts.step(Received::Deleted, StepOutcome::default(), later);
        facts.step(Received::Deleted, StepOutcome::default(), later);
        assert_eq!(facts.objects, 0, "deletions of objects that were not counted do not count");
    }

    #[test]
    fn a_step_measures_the_changes_since_the_one_before() {
        let t = Instant::now();
        let mut facts = WatchFacts::new(t);
        let mut step = |received, outcome| {
            let measured = facts.step(received, outcome, t);
            (measured.objects, measured.event, measured.restarted, measured.relisted)
        };
        assert_eq!(step(Received::Items(2), listing()), (0, None, false, false));
        assert_eq!(step(Received::Page, synced()), (2, None, false, false));
        assert_eq!(step(Received::Opened, StepOutcome::default()), (0, None, false, false));
        assert_eq!(step(Received::Added, StepOutcome::default()), (1, Some("added"), false, false));
        assert_eq!(step(Received::Modified, StepOutcome::default()), (0, Some("modified"), false, false));
        assert_eq!(step(Received::Bookmark, StepOutcome::default()), (0, Some("bookmark"), false, false));
        assert_eq!(step(Received::Opened, StepOutcome::default()), (0, None, true, false));
        assert_eq!(step(Received::Deleted, StepOutcome::default()), (-1, Some("deleted"), false, false));
        assert_eq!(step(Received::Items(2), listing()), (0, None, false, true));
        assert_eq!(step(Received::Items(5), StepOutcome::default()), (0, None, false, false));
        assert_eq!(step(Received::Page, synced()), (5, None, false, false));
        assert_eq!(facts.objects_delta(4), -3);
    }

    #[test]
    fn a_request_shows_what_it_is_for() {
        let record = WatchRegistry::default().add("Pod", None);
        let watch = |send_initial_events| {
            Next::Watch(WatchParams { send_initial_events, ..WatchParams::default() }, String::new())
        };
        for (next, state) in [
            (watch(false), WatchState::Connecting),
            (watch(true), WatchState::Listing),
            (Next::CheckVersion, WatchState::Connecting),
            (Next::List(ListParams::default()), WatchState::Listing),
            (Next::ReadList, WatchState::Listing),
            (Next::Read { idle_timeout: Duration::ZERO }, WatchState::Listing),
        ] {
            record.requesting(&next);
            assert_eq!(record.facts().state, state, "{next:?}");
        }
    }

    #[test]
    fn a_dropped_watch_leaves_the_registry() {
        let registry = Arc::new(WatchRegistry::default());
        let record = registry.add("Pod", Some("shop"));
        assert_eq!(registry.watches()[0].namespace.as_deref(), Some("shop"));
        drop(record);
        assert!(registry.watches().is_empty());
        let _another = registry.add("Pod", Some("stage"));
        assert_eq!(registry.watches.lock().len(), 1, "nothing is left of it");
    }

    #[test]
    fn an_event_of_a_watch_costs_no_allocation() {
        let registry = WatchRegistry::default();
        let (record, now) = (registry.add("Pod", None), Instant::now());
        let step = Step::<()> { emit: Vec::new(), wait: Duration::ZERO };
        let memory = allocation_counter::measure(|| {
            (0..1000).for_each(|_| record.stepped(Received::Modified, &step, 0, now));
        });
        assert_eq!(memory.count_total, 0);
    }
}
