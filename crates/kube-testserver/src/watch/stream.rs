use std::{sync::Arc, time::Duration, vec};

use bytes::Bytes;
use parking_lot::Mutex;
use serde_json::json;
use tokio::{
    sync::watch,
    time::{Instant, Interval, MissedTickBehavior, interval_at, sleep_until},
};

use super::Filter;
use crate::{
    clock::Clock,
    failure::Failure,
    render::Encoder,
    store::{Change, EventType, Stored, TableId, TooOld},
    world::World,
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
    Present { announce_end: bool },
}

/// One running watch: call [`next`](Self::next) for line after line.
pub(crate) struct Watch {
    world: Arc<Mutex<World>>,
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
    failure: Option<Failure>,
    /// `None` once the stream is to end.
    signal: Option<watch::Receiver<u64>>,
    cut: watch::Receiver<u64>,
    bookmarks: Option<Interval>,
    deadline: Instant,
}

impl Watch {
    /// Takes the present state (or the position in the history) at this moment; `world` is locked by the caller.
    pub(crate) fn begin(
        shared: Arc<Mutex<World>>,
        world: &World,
        table: TableId,
        (start, filter, encoder): (Start, Filter, Encoder),
        cut: watch::Receiver<u64>,
    ) -> Self {
        let (mut position, mut initial, mut failure, mut announce) =
            (world.store.revision(), Vec::new(), None, false);
        match start {
            Start::Present { announce_end } => {
                let namespace = filter.namespace.as_deref();
                initial =
                    world.store.objects(table, namespace).filter(|o| filter.matches(o)).cloned().collect();
                announce = announce_end;
            }
            Start::After(revision) => {
                position = revision;
                if let Err(old) = world.store.check_readable(table, revision) {
                    failure = Some(Failure::expired(format!(
                        "too old resource version: {revision} ({})",
                        old.oldest
                    )));
                }
            }
        }
        Self {
            signal: world.store.signal(table),
            world: shared,
            clock: world.clock.clone(),
            table,
            filter,
            encoder,
            position,
            initial: initial.into_iter(),
            announce_end: announce,
            changes: Vec::new().into_iter(),
            failure,
            cut,
            bookmarks: None,
            deadline: Instant::now() + DEFAULT_TIMEOUT,
        }
    }

    #[must_use]
    pub(crate) fn with_timeout(mut self, seconds: Option<u64>) -> Self {
        if let Some(seconds) = seconds.filter(|seconds| *seconds > 0) {
            self.deadline = Instant::now() + Duration::from_secs(seconds.min(24 * 3600));
        }
        self
    }

    #[must_use]
    pub(crate) fn with_bookmarks(mut self, wanted: bool) -> Self {
        self.bookmarks = wanted.then(|| {
            let mut ticks = interval_at(Instant::now() + BOOKMARK_EVERY, BOOKMARK_EVERY);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            ticks
        });
        self
    }

    /// The next line, or `None` at the end: the timeout, the end of the resource, or history that ran away.
    pub(crate) async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(failure) = self.failure.take() {
                self.signal = None;
                return Some(format!("{}\n", json!({"type": "ERROR", "object": failure.status()})).into());
            }
            if let Some(line) = self.ready_line() {
                return Some(line);
            }
            // Marked as seen before reading, so that nothing falls between reading and waiting.
            self.signal.as_mut()?.borrow_and_update();
            if self.read_on().is_err() {
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

    /// A line that needs no waiting.
    fn ready_line(&mut self) -> Option<Bytes> {
        let now = || if self.encoder.shows_ages() { self.clock.now() } else { String::new() };
        if let Some(object) = self.initial.next() {
            return Some(self.encoder.event(EventType::Added, &object, &now()));
        }
        if std::mem::take(&mut self.announce_end) {
            return Some(self.encoder.bookmark(self.position, true));
        }
        for change in self.changes.by_ref() {
            self.position = change.object.revision;
            if let Some((event, object)) = self.filter.see(&change) {
                return Some(self.encoder.event(event, &object, &now()));
            }
        }
        None
    }

    /// Fetches what happened since; with nothing new, all of the store's present revision counts as seen.
    fn read_on(&mut self) -> Result<(), TooOld> {
        let world = self.world.lock();
        let changes = world.store.changes(self.table, self.position, BATCH)?;
        if changes.is_empty() {
            self.position = self.position.max(world.store.revision());
        }
        self.changes = changes.into_iter();
        Ok(())
    }

    async fn wait(&mut self) -> Wake {
        let Some(signal) = &mut self.signal else { return Wake::End { bookmark: false } };
        let bookmark = async {
            match &mut self.bookmarks {
                Some(ticks) => drop(ticks.tick().await),
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            changed = signal.changed() => if changed.is_ok() { Wake::Changed } else { Wake::End { bookmark: false } },
            _ = self.cut.changed() => Wake::End { bookmark: false },
            () = sleep_until(self.deadline) => Wake::End { bookmark: self.bookmarks.is_some() },
            () = bookmark => Wake::Bookmark,
        }
    }
}

/// Why a watch woke up.
enum Wake {
    Changed,
    Bookmark,
    End { bookmark: bool },
}
