use std::{sync::Arc, time::Duration, vec};

use bytes::Bytes;
use parking_lot::Mutex;
use serde_json::json;
use tokio::sync::watch;

use super::Filter;
use crate::{
    clock::Clock,
    cluster::ClusterState,
    conversion,
    render::Encoder,
    status_error::StatusError,
    store::{Change, EventType, PageRequest, Stored, TableId, TooOld},
};

/// A watcher that has nothing else to hear gets a bookmark this often, when it wants them.
const BOOKMARK_EVERY: Duration = Duration::from_secs(60);
/// How long a watch lasts when the client does not say.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(45 * 60);
/// Changes taken from the history at a time.
const BATCH: usize = 256;

/// Where a watch begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// With the first change after a revision.
    After(u64),
    /// With every object that is there now; then, if asked for, a bookmark that says that these were all.
    Current {
        announce_end: bool,
        /// As it was at this revision; `None` is now.
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
    /// The revision up to which everything was seen.
    position: u64,
    initial: vec::IntoIter<Arc<Stored>>,
    announce_end: bool,
    changes: vec::IntoIter<Change>,
    /// Said instead of anything else, and then the end.
    failure: Option<StatusError>,
    /// `None` once the stream is to end.
    signal: Option<watch::Receiver<u64>>,
    end_requested: watch::Receiver<u64>,
    /// When the cluster has something to do that may be an event: somebody has to wake up for it.
    due: watch::Receiver<Option<Duration>>,
    /// When the next bookmark is due, in the clock's time since start.
    bookmark: Option<Duration>,
    deadline: Duration,
    /// That of the cluster at the beginning: in another one this watch knows nothing.
    incarnation: u64,
}

impl Watch {
    /// Takes the present state (or the position in the history) at this moment; `cluster` is locked by the caller.
    pub(crate) fn begin(
        shared: Arc<Mutex<ClusterState>>,
        cluster: &ClusterState,
        table: TableId,
        (start, filter, encoder): (Start, Filter, Encoder),
        end_requested: watch::Receiver<u64>,
    ) -> Self {
        let (mut position, mut initial, mut failure, mut announce) =
            (cluster.store.revision(), Vec::new(), None, false);
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
                match cluster.store.page(all) {
                    Ok(page) => (position, initial) = (page.revision, page.objects),
                    Err(old) => failure = Some(too_old(at.unwrap_or_default(), &old)),
                }
                announce = announce_end;
            }
            Start::After(revision) => {
                position = revision;
                failure =
                    cluster.store.check_readable(table, revision).err().map(|old| too_old(revision, &old));
            }
        }
        Self {
            signal: cluster.store.signal(table),
            cluster: shared,
            clock: cluster.clock.clone(),
            table,
            filter,
            encoder,
            position,
            initial: initial.into_iter(),
            announce_end: announce,
            changes: Vec::new().into_iter(),
            failure,
            end_requested,
            due: cluster.next_due(),
            bookmark: None,
            deadline: cluster.clock.elapsed() + DEFAULT_TIMEOUT,
            incarnation: cluster.incarnation,
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
    pub(crate) fn with_bookmarks(mut self, wanted: bool) -> Self {
        self.bookmark = wanted.then(|| self.clock.elapsed() + BOOKMARK_EVERY);
        self
    }

    /// The next line, or `None` at the end: the timeout, the end of the resource, or history that ran away.
    pub(crate) async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(failure) = self.failure.take() {
                self.signal = None;
                return Some(format!("{}\n", json!({"type": "ERROR", "object": failure.status()})).into());
            }
            match self.ready() {
                Some(Ready::Line(line)) => return Some(line),
                Some(Ready::Object(event, object)) => {
                    let shown = conversion::to_requested_version(
                        &self.cluster,
                        self.encoder.endpoint(),
                        vec![object],
                    )
                    .await;
                    match shown {
                        Ok(shown) => return shown.first().map(|object| self.line(event, object)),
                        Err(failure) => self.failure = Some(failure),
                    }
                    continue;
                }
                None => {}
            }
            // Marked as seen before reading, so that nothing falls between reading and waiting.
            self.signal.as_mut()?.borrow_and_update();
            if self.fetch_changes().is_err() {
                return None;
            }
            if self.changes.len() > 0 {
                continue;
            }
            match self.wait().await {
                Wake::Changed => {}
                Wake::Bookmark => return Some(self.encoder.bookmark(self.position, false)),
                Wake::End { bookmark } => {
                    self.signal = None;
                    return bookmark.then(|| self.encoder.bookmark(self.position, false));
                }
            }
        }
    }

    fn line(&mut self, event: EventType, object: &Stored) -> Bytes {
        let now = if self.encoder.shows_ages() { self.clock.now() } else { String::new() };
        self.encoder.event(event, object, &now)
    }

    /// What is next without waiting for it.
    fn ready(&mut self) -> Option<Ready> {
        if let Some(object) = self.initial.next() {
            return Some(Ready::Object(EventType::Added, object));
        }
        if std::mem::take(&mut self.announce_end) {
            return Some(Ready::Line(self.encoder.bookmark(self.position, true)));
        }
        for change in self.changes.by_ref() {
            self.position = change.object.revision;
            if let Some((event, object)) = self.filter.event_for(&change) {
                return Some(Ready::Object(event, object));
            }
        }
        None
    }

    /// Fetches what happened since; with nothing new, all of the store's present revision counts as seen.
    fn fetch_changes(&mut self) -> Result<(), TooOld> {
        let cluster = self.cluster.lock();
        if cluster.incarnation != self.incarnation {
            return Err(TooOld { oldest: cluster.store.revision() });
        }
        let changes = cluster.store.changes(self.table, self.position, BATCH)?;
        if changes.is_empty() {
            self.position = self.position.max(cluster.store.revision());
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
            // The cluster has the sender, and this watch the cluster.
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

/// What is to be said next.
enum Ready {
    Line(Bytes),
    /// In the version that is stored.
    Object(EventType, Arc<Stored>),
}

/// Why a watch woke up.
enum Wake {
    Changed,
    Bookmark,
    End { bookmark: bool },
}
