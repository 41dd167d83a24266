//! The stream of one watch: initial objects, changes, bookmarks, errors.

use std::{sync::Arc, time::Duration, vec};

use bytes::Bytes;
use parking_lot::Mutex;
use serde_json::json;
use tokio::sync::watch;

use super::Filter;
use crate::{
    clock::Clock,
    cluster::ClusterState,
    crd::conversion,
    response::Encoder,
    scheme::TableId,
    status_error::StatusError,
    storage::{Change, EventType, PageRequest, Stored, TooOld},
};

/// Interval of bookmarks, for watchers that request them.
const BOOKMARK_EVERY: Duration = Duration::from_secs(60);
/// The duration of a watch without `timeoutSeconds`.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(45 * 60);
/// When an object that could not be converted is tried again.
const CONVERT_AGAIN: Duration = Duration::from_secs(1);
/// Changes read from the history at a time.
const BATCH: usize = 256;

/// Where a watch starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// The first change after a revision.
    After(u64),
    /// The current objects, then a bookmark if `announce_end`.
    Current {
        announce_end: bool,
        /// The state at this revision; `None` is the current state.
        at: Option<u64>,
    },
}

/// One running watch: call [`next`](Self::next) for line after line.
pub(crate) struct Watch {
    cluster: Arc<Mutex<ClusterState>>,
    table: TableId,
    filter: Filter,
    encoder: Encoder,
    clock: Clock,
    /// The revision up to which all changes are sent.
    position: u64,
    /// The latest revision that the client has been told.
    told: u64,
    initial: vec::IntoIter<Arc<Stored>>,
    announce_end: bool,
    changes: vec::IntoIter<Change>,
    /// Sent as the next and last line.
    error: Option<StatusError>,
    /// `None` once the stream has to end.
    signal: Option<watch::Receiver<u64>>,
    end_requested: watch::Receiver<u64>,
    /// When the cluster's next task is due: it may create an event, and the watch has to run it.
    due: watch::Receiver<Option<Duration>>,
    /// When the next bookmark is due, in the clock's time since start.
    bookmark: Option<Duration>,
    deadline: Duration,
    /// The cluster's incarnation at the start: after a replacement, the position is invalid.
    incarnation: u64,
}

impl Watch {
    /// Reads the current state or the position in the history; the caller holds the lock of `cluster`.
    pub(crate) fn begin(
        shared: Arc<Mutex<ClusterState>>,
        cluster: &ClusterState,
        table: TableId,
        (start, filter, encoder): (Start, Filter, Encoder),
        end_requested: watch::Receiver<u64>,
    ) -> Self {
        let (mut position, mut initial, mut error, mut announce) =
            (cluster.store().revision(), Vec::new(), None, false);
        match start {
            Start::Current { announce_end, at } => {
                let all = PageRequest {
                    table,
                    namespace: filter.namespace.as_deref(),
                    at: at.filter(|at| *at < position),
                    start: None,
                    limit: 0,
                    matches: &|stored| filter.matches(stored),
                };
                match cluster.store().page(all) {
                    Ok(page) => (position, initial) = (page.revision, page.objects),
                    Err(old) => error = Some(too_old(at.unwrap_or_default(), &old)),
                }
                announce = announce_end;
            }
            Start::After(revision) => {
                position = revision;
                error =
                    cluster.store().check_readable(table, revision).err().map(|old| too_old(revision, &old));
            }
        }
        Self {
            signal: cluster.store().signal(table),
            cluster: shared,
            clock: cluster.clock.clone(),
            table,
            filter,
            encoder,
            position,
            told: if let Start::After(revision) = start { revision } else { 0 },
            initial: initial.into_iter(),
            announce_end: announce,
            changes: Vec::new().into_iter(),
            error,
            end_requested,
            due: cluster.next_due(),
            bookmark: None,
            deadline: cluster.clock.elapsed() + DEFAULT_TIMEOUT,
            incarnation: cluster.incarnation(),
        }
    }

    #[must_use]
    pub(crate) fn with_timeout(mut self, seconds: Option<u64>) -> Self {
        if let Some(seconds) = seconds.filter(|seconds| *seconds > 0) {
            self.deadline = self.clock.elapsed() + Duration::from_secs(seconds.min(24 * 3600));
        }
        self
    }

    #[must_use]
    pub(crate) fn with_bookmarks(mut self, requested: bool) -> Self {
        self.bookmark = requested.then(|| self.clock.elapsed() + BOOKMARK_EVERY);
        self
    }

    /// A watch that only sends this error.
    #[must_use]
    pub(crate) fn refused(mut self, error: StatusError) -> Self {
        self.initial = Vec::new().into_iter();
        self.error = Some(error);
        self
    }

    /// The next line. `None` at the end: after the timeout, when the resource is no longer served, or when the position was dropped from
    /// the history.
    pub(crate) async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(error) = self.error.take() {
                self.signal = None;
                return Some(format!("{}\n", json!({"type": "ERROR", "object": error.status()})).into());
            }
            match self.ready() {
                Some(_) if self.encoder.shows_no_event() => return None,
                Some(Ready::Line(line)) => return Some(line),
                Some(Ready::Object(event, object)) => {
                    let converted = self.converted(object).await?;
                    return Some(self.line(event, &converted));
                }
                None => {}
            }
            // Marked as seen before reading, so that a change between reading and waiting wakes the watch.
            self.signal.as_mut()?.borrow_and_update();
            if self.fetch_changes().is_err() {
                return None;
            }
            if self.changes.len() > 0 {
                continue;
            }
            match self.wait().await {
                Wake::Changed => {}
                Wake::Bookmark => {
                    self.told = self.position;
                    return Some(self.encoder.bookmark(self.position, false));
                }
                Wake::End { bookmark } => {
                    self.signal = None;
                    // A bookmark that says nothing new is not sent.
                    return (bookmark && self.position > self.told)
                        .then(|| self.encoder.bookmark(self.position, false));
                }
            }
        }
    }

    /// The object in the version of the watch. As on genuine servers, the watch is silent as long as an object cannot be converted. `None`
    /// if it ends meanwhile.
    async fn converted(&mut self, object: Arc<Stored>) -> Option<Arc<Stored>> {
        let objects = [object];
        loop {
            let endpoint = self.encoder.endpoint();
            if let Ok(mut converted) =
                conversion::to_requested_version(&self.cluster, endpoint, &objects).await
            {
                return converted.pop();
            }
            let now = self.clock.elapsed();
            let is_served = self.cluster.lock().scheme().by_table(self.table).is_some();
            if now >= self.deadline || !is_served {
                self.signal = None;
                return None;
            }
            tokio::select! {
                biased;
                _ = self.end_requested.changed() => {
                    self.signal = None;
                    return None;
                }
                () = self.clock.sleep_until((now + CONVERT_AGAIN).min(self.deadline)) => {}
            }
            self.follow_definition();
        }
    }

    fn line(&mut self, event: EventType, object: &Stored) -> Bytes {
        let now = if self.encoder.shows_ages() { self.clock.now() } else { String::new() };
        self.encoder.event(event, object, &now)
    }

    /// The next line or event that is available without waiting.
    fn ready(&mut self) -> Option<Ready> {
        if let Some(object) = self.initial.next() {
            self.told = self.told.max(object.revision);
            return Some(Ready::Object(EventType::Added, object));
        }
        if std::mem::take(&mut self.announce_end) {
            self.told = self.position;
            return Some(Ready::Line(self.encoder.bookmark(self.position, true)));
        }
        for change in self.changes.by_ref() {
            self.position = change.object.revision;
            if let Some((event, object)) = self.filter.event_for(&change) {
                self.told = self.position;
                return Some(Ready::Object(event, object));
            }
        }
        None
    }

    /// Another storage version or conversion applies to the events from now on.
    fn follow_definition(&mut self) {
        let endpoint = self.encoder.endpoint();
        if !endpoint.resource.custom {
            return;
        }
        let cluster = self.cluster.lock();
        if let Some(current) = cluster.scheme().by_table(self.table)
            && !Arc::ptr_eq(current, &endpoint.resource)
            && let Some(current) =
                cluster.scheme().find(endpoint.group(), &endpoint.version().name, endpoint.plural())
        {
            self.encoder.set_endpoint(current.clone());
        }
    }

    /// Reads new changes; without any, the position moves to the store's revision.
    fn fetch_changes(&mut self) -> Result<(), TooOld> {
        self.follow_definition();
        let cluster = self.cluster.lock();
        if cluster.incarnation() != self.incarnation {
            return Err(TooOld { oldest: cluster.store().revision() });
        }
        let changes = cluster.store().changes(self.table, self.position, BATCH)?;
        if changes.is_empty() {
            self.position = self.position.max(cluster.store().revision());
        }
        self.changes = changes.into_iter();
        Ok(())
    }

    async fn wait(&mut self) -> Wake {
        let Some(signal) = &mut self.signal else { return Wake::End { bookmark: false } };
        let due = *self.due.borrow_and_update();
        let next = [self.bookmark, due].into_iter().flatten().fold(self.deadline, Duration::min);
        tokio::select! {
            biased;
            changed = signal.changed() => if changed.is_ok() { Wake::Changed } else { Wake::End { bookmark: false } },
            _ = self.end_requested.changed() => Wake::End { bookmark: false },
            // Cannot fail: the cluster owns the sender, and this watch owns the cluster.
            _ = self.due.changed() => Wake::Changed,
            () = self.clock.sleep_until(next) => self.on_timer(),
        }
    }

    fn on_timer(&mut self) -> Wake {
        let now = self.clock.elapsed();
        if self.due.borrow().is_some_and(|due| due <= now) {
            self.cluster.lock().run_due_tasks();
            return Wake::Changed;
        }
        if now >= self.deadline {
            return Wake::End { bookmark: self.bookmark.is_some() };
        }
        self.bookmark = Some(now + BOOKMARK_EVERY);
        Wake::Bookmark
    }
}

fn too_old(revision: u64, old: &TooOld) -> StatusError {
    StatusError::expired(format!("too old resource version: {revision} ({})", old.oldest))
}

/// The next thing to send.
enum Ready {
    Line(Bytes),
    /// In the storage version.
    Object(EventType, Arc<Stored>),
}

/// Why a watch woke up.
enum Wake {
    Changed,
    Bookmark,
    End { bookmark: bool },
}
