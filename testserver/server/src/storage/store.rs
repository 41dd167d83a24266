//! The tables of objects, their revisions, and the bounded history of changes.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use serde_json::Value;
use tokio::sync::watch;

use super::{EventType, Key, Stored};
use crate::{
    object::meta,
    scheme::{Scheme, TableId},
};

/// The requested revision is no longer in the history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooOld {
    /// The oldest revision in the history.
    pub(crate) oldest: u64,
}

/// A change in the history of a resource.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    /// The new version; for a deletion the last version, at the revision of the deletion.
    pub(crate) object: Arc<Stored>,
    pub(crate) previous: Option<Arc<Stored>>,
}

impl Change {
    /// The new version; `None` for a deletion.
    pub(crate) fn after(&self) -> Option<&Stored> {
        Some(self.object.as_ref()).filter(|object| object.event != EventType::Deleted)
    }
}

/// All objects of all resources, and their recent changes.
#[derive(Debug)]
pub(crate) struct Store {
    revision: u64,
    compacted: u64,
    tables: Vec<Table>,
    /// The table of each change in the history, oldest first.
    order: VecDeque<TableId>,
    bytes: usize,
    limits: HistoryLimits,
}

/// Bounds of the history; the first that is reached applies.
#[derive(Clone, Copy, Debug)]
struct HistoryLimits {
    changes: usize,
    bytes: usize,
}

#[derive(Debug)]
pub(super) struct Table {
    pub(super) objects: BTreeMap<Key, Arc<Stored>>,
    history: VecDeque<Change>,
    /// The revision of the newest change that was dropped.
    dropped: u64,
    /// Publishes the newest revision to watchers; `None` once the resource is no longer served.
    signal: Option<watch::Sender<u64>>,
}

impl Table {
    /// The changes in the history after `revision`, oldest first. Earlier ones cost nothing.
    pub(super) fn since(&self, revision: u64) -> impl Iterator<Item = &Change> {
        let first = self.history.partition_point(|change| change.object.revision <= revision);
        self.history.range(first..)
    }
}

impl Store {
    pub(crate) fn new(changes: usize) -> Self {
        // As with etcd, the first visible revision is not 0, which has a special meaning.
        let limits = HistoryLimits { changes, bytes: 64 << 20 };
        Self { revision: 1, compacted: 0, tables: Vec::new(), order: VecDeque::new(), bytes: 0, limits }
    }

    /// An empty store with the same limits at `revision`, without history.
    pub(crate) fn restarted_at(&self, revision: u64) -> Self {
        Self { revision, compacted: revision, ..Self::new(self.limits.changes) }
    }

    /// Inserts a version as it is, without a change in the history.
    pub(crate) fn restore(&mut self, table: TableId, stored: Arc<Stored>) {
        self.tables[table.0].objects.insert(stored.key.clone(), stored);
    }

    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }

    /// Adds the tables of built-in kinds, which are the first.
    pub(super) fn add_tables_of(&mut self, scheme: &Scheme) {
        for _ in scheme.resources() {
            self.add_table();
        }
    }

    /// Adds the table of a resource.
    pub(crate) fn add_table(&mut self) -> TableId {
        let signal = Some(watch::Sender::new(self.revision));
        let table = Table { objects: BTreeMap::new(), history: VecDeque::new(), dropped: 0, signal };
        self.tables.push(table);
        TableId(self.tables.len() - 1)
    }

    /// Closes the table of a resource: its watchers end after the last change.
    pub(crate) fn close_table(&mut self, table: TableId) {
        self.tables[table.0].signal = None;
    }

    pub(super) fn table(&self, table: TableId) -> &Table {
        &self.tables[table.0]
    }

    pub(crate) fn get(&self, table: TableId, key: &Key) -> Option<&Arc<Stored>> {
        self.tables[table.0].objects.get(key)
    }

    /// All objects of a resource, by key.
    pub(crate) fn objects(
        &self,
        table: TableId,
        namespace: Option<&str>,
    ) -> impl Iterator<Item = &Arc<Stored>> {
        self.range(table, namespace, Key::first_in(namespace)).map(|(_, object)| object)
    }

    /// The objects of a namespace from `first` on.
    pub(super) fn range(
        &self,
        table: TableId,
        namespace: Option<&str>,
        first: Key,
    ) -> impl Iterator<Item = (&Key, &Arc<Stored>)> {
        self.tables[table.0].objects.range(first..).take_while(move |(key, _)| key.is_in(namespace))
    }

    /// The version that creates or replaces an object at the next revision. Nobody sees it before [`commit`](Self::commit).
    ///
    /// `view` returns how reads see the object, if not as it is.
    pub(crate) fn next_version(
        &self,
        table: TableId,
        key: Key,
        object: Value,
        view: impl FnOnce(&Value) -> Option<Value>,
    ) -> Arc<Stored> {
        let event = match self.get(table, &key) {
            Some(_) => EventType::Modified,
            None => EventType::Added,
        };
        self.version(key, event, object, view)
    }

    /// The last version of an object, at the revision of its removal. `None` when it does not exist. Nobody sees it before
    /// [`commit`](Self::commit).
    pub(crate) fn next_removal(&self, table: TableId, key: &Key) -> Option<Arc<Stored>> {
        let last = self.get(table, key)?.value();
        Some(self.version(key.clone(), EventType::Deleted, last, |_| None))
    }

    /// Makes the next version or removal the current state. No other change may have been committed since it was made.
    pub(crate) fn commit(&mut self, table: TableId, next: Arc<Stored>) -> Change {
        debug_assert_eq!(next.revision, self.revision + 1, "one change at a time");
        self.revision = next.revision;
        let objects = &mut self.tables[table.0].objects;
        let previous = match next.event {
            EventType::Deleted => objects.remove(&next.key),
            EventType::Added | EventType::Modified => objects.insert(next.key.clone(), next.clone()),
        };
        let change = Change { object: next, previous };
        self.record_change(table, change.clone());
        change
    }

    /// Goes on to `revision` without a change.
    pub(super) fn advance_to(&mut self, revision: u64) {
        debug_assert!(revision >= self.revision, "revisions only grow");
        self.revision = revision;
    }

    /// Changes how reads see the current objects, without new revisions or events.
    pub(crate) fn change_views(&mut self, table: TableId, view: impl Fn(&Value) -> Option<Value>) {
        for stored in self.tables[table.0].objects.values_mut() {
            let written = stored.written_value();
            let seen = view(&written);
            if *seen.as_ref().unwrap_or(&written) != stored.value() {
                let (key, revision, event) = (stored.key.clone(), stored.revision, stored.event);
                *stored = Arc::new(Stored::seen_as(key, revision, event, &written, seen.as_ref()));
            }
        }
    }

    /// Drops the history: every earlier revision is expired.
    pub(crate) fn compact(&mut self) {
        self.compacted = self.revision;
        while self.drop_oldest() {}
    }

    /// Checks that a reader may start at `revision`.
    pub(crate) fn check_readable(&self, table: TableId, revision: u64) -> Result<(), TooOld> {
        let oldest = self.compacted.max(self.tables[table.0].dropped);
        if revision < oldest { Err(TooOld { oldest }) } else { Ok(()) }
    }

    /// At limit `limit` changes after `revision`, oldest first. An error when some of them were dropped.
    pub(crate) fn changes(&self, table: TableId, revision: u64, limit: usize) -> Result<Vec<Change>, TooOld> {
        let table = self.table(table);
        if revision < table.dropped {
            return Err(TooOld { oldest: table.dropped });
        }
        Ok(table.since(revision).take(limit).cloned().collect())
    }

    /// Changes with the resource, and closes with its table.
    pub(crate) fn signal(&self, table: TableId) -> Option<watch::Receiver<u64>> {
        self.tables[table.0].signal.as_ref().map(watch::Sender::subscribe)
    }

    fn version(
        &self,
        key: Key,
        event: EventType,
        mut object: Value,
        view: impl FnOnce(&Value) -> Option<Value>,
    ) -> Arc<Stored> {
        let revision = self.revision + 1;
        meta::set(&mut object, "resourceVersion", revision.to_string());
        Arc::new(Stored::seen_as(key, revision, event, &object, view(&object).as_ref()))
    }

    fn record_change(&mut self, table: TableId, change: Change) {
        self.bytes += change.object.size();
        self.tables[table.0].history.push_back(change);
        self.order.push_back(table);
        while self.order.len() > self.limits.changes || self.bytes > self.limits.bytes && self.order.len() > 1
        {
            self.drop_oldest();
        }
        if let Some(signal) = &self.tables[table.0].signal {
            signal.send_replace(self.revision);
        }
    }

    fn drop_oldest(&mut self) -> bool {
        let Some(table) = self.order.pop_front() else { return false };
        let table = &mut self.tables[table.0];
        if let Some(change) = table.history.pop_front() {
            table.dropped = change.object.revision;
            self.bytes -= change.object.size();
        }
        true
    }
}

#[cfg(test)]
impl Store {
    /// Commits the next version of an object.
    pub(crate) fn put(&mut self, table: TableId, key: Key, object: Value) -> Arc<Stored> {
        let next = self.next_version(table, key, object, |_| None);
        self.commit(table, next.clone());
        next
    }

    /// Commits the removal of an object.
    pub(crate) fn remove(&mut self, table: TableId, key: &Key) -> Option<Arc<Stored>> {
        let next = self.next_removal(table, key)?;
        self.commit(table, next.clone());
        Some(next)
    }
}
