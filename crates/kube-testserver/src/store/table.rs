use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use serde_json::Value;
use tokio::sync::watch;

use super::{EventType, Key, Stored};
use crate::meta;

/// One resource's place in the [`Store`]; never used again after [`Store::close_table`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct TableId(usize);

/// The revision asked for is older than what the history holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooOld {
    /// The oldest revision that would have been all right.
    pub(crate) oldest: u64,
}

/// One step of the history of a resource.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    /// The new version; for a deletion the last one, at the revision of the deletion.
    pub(crate) object: Arc<Stored>,
    pub(crate) previous: Option<Arc<Stored>>,
}

/// All objects of all resources, and their recent changes.
#[derive(Debug)]
pub(crate) struct Store {
    revision: u64,
    compacted: u64,
    tables: Vec<Table>,
    /// Which table each remembered change is in, oldest first.
    order: VecDeque<TableId>,
    bytes: usize,
    limits: HistoryLimits,
}

/// How much history is kept: whichever is reached first.
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
    /// Tells watchers the newest revision; gone once the resource is.
    signal: Option<watch::Sender<u64>>,
}

impl Table {
    /// The changes after `revision` that are remembered, oldest first. Costs nothing for those before.
    pub(super) fn since(&self, revision: u64) -> impl Iterator<Item = &Change> {
        let first = self.history.partition_point(|change| change.object.revision <= revision);
        self.history.range(first..)
    }
}

impl Store {
    pub(crate) fn new(changes: usize) -> Self {
        // Like etcd, the first revision that anybody sees is not 0: that one has a meaning of its own.
        let limits = HistoryLimits { changes, bytes: 64 << 20 };
        Self { revision: 1, compacted: 0, tables: Vec::new(), order: VecDeque::new(), bytes: 0, limits }
    }

    /// An empty store with the limits of another, which goes on from `revision` and knows nothing of before.
    pub(crate) fn restarted_at(&self, revision: u64) -> Self {
        Self { revision, compacted: revision, ..Self::new(self.limits.changes) }
    }

    /// Takes in an object as it is, at the revision that its metadata says. Nobody is told.
    pub(crate) fn restore(&mut self, table: TableId, key: Key, object: &Value) -> Arc<Stored> {
        let revision =
            meta::text(object, "resourceVersion").and_then(|v| v.parse().ok()).unwrap_or(self.revision);
        let stored = Arc::new(Stored::new(key.clone(), revision, EventType::Added, object));
        self.tables[table.0].objects.insert(key, stored.clone());
        stored
    }

    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }

    /// Makes room for one more resource.
    pub(crate) fn add_table(&mut self) -> TableId {
        let signal = Some(watch::Sender::new(self.revision));
        let table = Table { objects: BTreeMap::new(), history: VecDeque::new(), dropped: 0, signal };
        self.tables.push(table);
        TableId(self.tables.len() - 1)
    }

    /// Ends a resource: its watchers end once they have seen the last change.
    pub(crate) fn close_table(&mut self, table: TableId) {
        self.tables[table.0].signal = None;
    }

    pub(super) fn table(&self, table: TableId) -> &Table {
        &self.tables[table.0]
    }

    pub(crate) fn get(&self, table: TableId, key: &Key) -> Option<&Arc<Stored>> {
        self.tables[table.0].objects.get(key)
    }

    /// All objects of a resource in order.
    pub(crate) fn objects(
        &self,
        table: TableId,
        namespace: Option<&str>,
    ) -> impl Iterator<Item = &Arc<Stored>> {
        self.range(table, namespace, Key::first_in(namespace)).map(|(_, object)| object)
    }

    /// The objects of a namespace from a key of it on.
    pub(super) fn range(
        &self,
        table: TableId,
        namespace: Option<&str>,
        first: Key,
    ) -> impl Iterator<Item = (&Key, &Arc<Stored>)> {
        self.tables[table.0].objects.range(first..).take_while(move |(key, _)| key.is_in(namespace))
    }

    /// Writes a new version, created or replaced, at the next revision.
    pub(crate) fn put(&mut self, table: TableId, key: Key, mut object: Value) -> Arc<Stored> {
        let event = match self.get(table, &key) {
            Some(_) => EventType::Modified,
            None => EventType::Added,
        };
        let stored = self.version(key, event, &mut object);
        let previous = self.tables[table.0].objects.insert(stored.key.clone(), stored.clone());
        self.record_change(table, Change { object: stored.clone(), previous });
        stored
    }

    /// Removes an object; `last` is what watchers are told it was. `None` when there is no such object.
    pub(crate) fn remove(&mut self, table: TableId, key: &Key, mut last: Value) -> Option<Arc<Stored>> {
        let previous = self.tables[table.0].objects.remove(key)?;
        let stored = self.version(key.clone(), EventType::Deleted, &mut last);
        self.record_change(table, Change { object: stored.clone(), previous: Some(previous) });
        Some(stored)
    }

    /// Changes how the present objects read. They stay at their revisions, and nobody is told.
    pub(crate) fn rewrite_in_place(&mut self, table: TableId, read: impl Fn(&mut Value)) {
        for stored in self.tables[table.0].objects.values_mut() {
            let before = stored.value();
            let mut object = before.clone();
            read(&mut object);
            if object != before {
                *stored = Arc::new(Stored::new(stored.key.clone(), stored.revision, stored.event, &object));
            }
        }
    }

    /// Forgets all history: every older revision is expired from now on.
    pub(crate) fn compact(&mut self) {
        self.compacted = self.revision;
        while self.drop_oldest() {}
    }

    /// Whether a new reader may start from the state at `revision`.
    pub(crate) fn check_readable(&self, table: TableId, revision: u64) -> Result<(), TooOld> {
        let oldest = self.compacted.max(self.tables[table.0].dropped);
        if revision < oldest { Err(TooOld { oldest }) } else { Ok(()) }
    }

    /// At most `most` changes after `revision`, oldest first. Refused when some of them are dropped.
    pub(crate) fn changes(&self, table: TableId, revision: u64, most: usize) -> Result<Vec<Change>, TooOld> {
        let table = self.table(table);
        if revision < table.dropped {
            return Err(TooOld { oldest: table.dropped });
        }
        Ok(table.since(revision).take(most).cloned().collect())
    }

    /// Wakes when the resource changes, and fails once it is closed.
    pub(crate) fn signal(&self, table: TableId) -> Option<watch::Receiver<u64>> {
        self.tables[table.0].signal.as_ref().map(watch::Sender::subscribe)
    }

    fn version(&mut self, key: Key, event: EventType, object: &mut Value) -> Arc<Stored> {
        self.revision += 1;
        meta::set(object, "resourceVersion", self.revision.to_string());
        Arc::new(Stored::new(key, self.revision, event, object))
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
