//! What is known about one watch, for monitors and metrics: what it does, what it received, and its last error.

use super::machine::{Input, Read};
use crate::{delay::after, metrics::WatchMeasurement};
use kube_client::client::ListPart;
use kube_core::WatchEvent;
use serde::Serialize;
use std::time::Duration;
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

/// What is known about a watch. No I/O, no clock.
#[derive(Debug, Clone)]
pub(crate) struct WatchStatus {
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
    /// Since when, and how often in a row, it has failed without a watch in between.
    failing: Option<(Instant, u32)>,
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

impl WatchStatus {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            since: now,
            state: WatchState::Listing,
            stepped: now,
            wait: Duration::ZERO,
            received: None,
            last_error: None,
            failing: None,
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
    pub(super) fn objects_delta(&self, after: usize) -> i64 {
        i64::try_from(after).unwrap_or(i64::MAX) - i64::try_from(self.objects).unwrap_or(i64::MAX)
    }

    /// Since when, and how often in a row, the watch has failed, if what was `received` now ends that: a watch was opened again.
    pub(super) fn recovered(&mut self, received: Received) -> Option<(Instant, u32)> {
        self.failing.take_if(|_| received == Received::Opened)
    }

    pub(super) fn step(
        &mut self,
        received: Received,
        outcome: StepOutcome,
        now: Instant,
    ) -> WatchMeasurement {
        let before = self.objects;
        let mut measurement = WatchMeasurement {
            event: received.event(),
            errors: outcome.errors,
            restarted: received == Received::Opened && self.watches > 0,
            relisted: outcome.lists && self.lists > 0,
            objects: 0,
            undecodable: 0,
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
            self.failing =
                Some(self.failing.map_or((now, 1), |(since, times)| (since, times.saturating_add(1))));
        }
        if !outcome.wait.is_zero() {
            self.state = WatchState::BackingOff;
        }
        measurement.objects = -self.objects_delta(before);
        measurement
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
            Input::Read(Read::Failed(_) | Read::Closed | Read::IdleTimeout) | Input::AnotherCluster => {
                Self::Failure
            }
        }
    }
}

/// What a step led to.
#[derive(Debug, Default)]
pub(super) struct StepOutcome {
    /// Whether a list started.
    pub(super) lists: bool,
    /// The bytes of all responses so far.
    pub(super) bytes: u64,
    /// Whether a list was completed.
    pub(super) synced: bool,
    /// How many errors there were, undecodable objects included.
    pub(super) errors: u64,
    /// The last one of them.
    pub(super) error: Option<String>,
    /// The wait before the next request.
    pub(super) wait: Duration,
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let mut status = WatchStatus::new(t);
        status.step(Received::Items(2), listing(), t);
        status.step(Received::Page, StepOutcome::default(), t);
        assert!(!status.synced && status.objects == 0);
        status.step(Received::Items(3), StepOutcome::default(), t);
        status.step(Received::Page, synced(), t);
        assert!(status.synced && status.objects == 5);
        status.step(Received::Opened, StepOutcome::default(), t);
        assert_eq!(status.state, WatchState::Watching);
        for received in
            [Received::Added, Received::Modified, Received::Bookmark, Received::Added, Received::Deleted]
        {
            status.step(received, StepOutcome::default(), t);
        }
        assert_eq!(status.objects, 6);
        status.step(Received::Items(1), listing(), t);
        status.step(Received::Page, StepOutcome::default(), t);
        assert_eq!(status.objects, 6, "until the relist is complete");
        status.step(Received::Items(1), listing(), t);
        status.step(Received::Page, StepOutcome::default(), t);
        status.step(Received::Items(3), StepOutcome::default(), t);
        status.step(Received::Failure, failed("reset", 1), t);
        status.step(Received::Items(1), StepOutcome::default(), t);
        status.step(Received::Page, synced(), t);
        assert_eq!(
            (status.objects, status.lists, status.watches),
            (2, 3, 1),
            "a list that started over counts from 0, and a page that broke off counts once"
        );
    }

    #[test]
    fn a_streaming_list_becomes_a_watch() {
        let t = Instant::now();
        let mut status = WatchStatus::new(t);
        status.step(Received::Opened, listing(), t);
        status.step(Received::Added, StepOutcome::default(), t);
        assert_eq!((status.state, status.synced), (WatchState::Listing, false));
        status.step(Received::Bookmark, synced(), t);
        assert_eq!((status.state, status.synced, status.objects), (WatchState::Watching, true, 1));
    }

    #[test]
    fn a_failure_is_progress_of_the_watcher_and_not_of_the_server() {
        let t = Instant::now();
        let mut status = WatchStatus::new(t);
        status.step(Received::Items(1), listing(), t);
        status.step(Received::Page, synced(), t);
        let later = t + Duration::from_secs(9);
        status.step(Received::Failure, failed("403", 1), later);
        assert_eq!((status.state, status.received), (WatchState::BackingOff, Some(t)));
        assert_eq!(status.busy_until(), later + Duration::from_secs(1), "it waits on purpose");
        assert_eq!(status.last_error, Some((later, "403".into())));
        status.step(Received::Deleted, StepOutcome::default(), later);
        status.step(Received::Deleted, StepOutcome::default(), later);
        assert_eq!(status.objects, 0, "deletions of objects that were not counted do not count");
    }

    #[test]
    fn a_watch_has_recovered_when_it_is_open_again() {
        let t = Instant::now();
        let mut status = WatchStatus::new(t);
        assert_eq!(status.recovered(Received::Opened), None, "it had not failed");
        for seconds in 1..=3 {
            status.step(Received::Failure, failed("500", 1), t + Duration::from_secs(seconds));
            assert_eq!(status.recovered(Received::Page), None, "a list alone is no watch");
        }
        assert_eq!(status.recovered(Received::Opened), Some((t + Duration::from_secs(1), 3)));
        assert_eq!(status.recovered(Received::Opened), None);
    }

    #[test]
    fn a_step_measures_the_changes_since_the_one_before() {
        let t = Instant::now();
        let mut status = WatchStatus::new(t);
        let mut step = |received, outcome| {
            let measured = status.step(received, outcome, t);
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
        assert_eq!(status.objects_delta(4), -3);
    }
}
