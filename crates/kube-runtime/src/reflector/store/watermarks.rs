//! High watermarks of the watched collections, and the waits for them.

use super::awaited::{Awaited, Visible};
use crate::{capacity::release, reflector::ObjectKey, version::parse};
use hashbrown::HashMap;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use tokio::sync::oneshot;

/// The highest known version of each collection that fills a store, and the waits for higher ones.
///
/// A store is filled by one collection, or by one for each namespace. A watch sends the changes of its collection in the order
/// of their versions. So everything up to the highest version is known, even if later changes replaced it.
///
/// No I/O, and no wakers are called: [`take_ended`](Self::take_ended) returns the waits that ended, to be woken without a lock.
#[derive(Debug)]
pub(super) struct HighWatermarks {
    /// By namespace, or by the empty string if one collection fills the store.
    collections: HashMap<Box<str>, Collection>,
    by_namespace: bool,
    /// Whether all namespaces have been added. Before that, a wait may begin in any namespace.
    namespaces_known: bool,
    last_waiter: u64,
    closed: bool,
    ended: EndedWaits,
}

/// Waits that ended. A waker may be user code that uses the store, so they are woken and dropped without a lock.
#[derive(Debug, Default)]
pub(super) struct EndedWaits {
    completed: Vec<oneshot::Sender<()>>,
    /// Their waits fail, or were dropped.
    abandoned: Vec<Waiter>,
}

impl EndedWaits {
    pub(super) fn wake(self) {
        for done in self.completed {
            done.send(()).ok(); // the receiver may have been dropped
        }
        drop(self.abandoned);
    }
}

/// The version of a completed list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::reflector) enum ListVersion {
    /// Everything up to this version is known.
    Known(u128),
    /// Versions cannot be compared between objects ([KEP-5504](https://kep.k8s.io/5504)).
    Opaque,
    /// Public events carry no list version. It is at least the highest version of the list's objects.
    Unknown { highest: Option<u128> },
}

impl ListVersion {
    /// From the version of a [`CollectionEvent`](crate::watcher::CollectionEvent), which is empty if versions are opaque.
    pub(in crate::reflector) fn of(resource_version: &str) -> Self {
        parse(resource_version).map_or(Self::Opaque, Self::Known)
    }
}

/// Identifies a wait, so that it can be removed.
#[derive(Debug)]
pub(super) struct WaiterId {
    collection: Box<str>,
    number: u64,
}

/// A wait and what ends it.
pub(super) type StartedWait = Result<(WaiterId, oneshot::Receiver<()>), NoWait>;

/// Why no wait begins.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NoWait {
    /// The awaited state is visible already.
    AlreadyMet,
    /// The writer was dropped.
    Closed,
    /// The store is filled by namespaces, and this one is not watched.
    NotWatched,
}

#[derive(Debug, Default)]
struct Collection {
    /// Whether a watch fills it. If not, its namespace may be added later.
    watched: bool,
    /// Everything up to this version is known.
    watermark: Option<u128>,
    /// Versions cannot be compared between objects.
    opaque: bool,
    lists: ListGenerations,
    waiters: HashMap<u64, Waiter>,
    /// The waits that the watermark ends, the lowest version first, and some that have ended otherwise: see `forget_ended`.
    by_version: BinaryHeap<Reverse<(u128, u64)>>,
    /// The other waits, which an event of their object ends.
    by_object: HashMap<ObjectKey, Vec<u64>>,
}

/// Numbers the lists of a collection, from 1.
#[derive(Debug, Clone, Copy, Default)]
struct ListGenerations {
    /// The last list of which an event was received.
    started: u64,
    /// The last list that was received completely; less than `started` while a list is running.
    completed: u64,
}

#[derive(Debug)]
struct Waiter {
    key: ObjectKey,
    awaited: Awaited,
    /// The number of the last list that had started when the wait began.
    list_at_start: u64,
    /// The number of the first list that was certainly requested after the wait began, so that it shows what is awaited. If the list that
    /// ran at the beginning is abandoned, this is the number of the list after that one: see [`Collection::start_list`].
    first_later_list: u64,
    done: oneshot::Sender<()>,
}

impl Default for HighWatermarks {
    fn default() -> Self {
        Self {
            collections: [(Box::default(), Collection::default())].into(),
            by_namespace: false,
            namespaces_known: true,
            last_waiter: 0,
            closed: false,
            ended: EndedWaits::default(),
        }
    }
}

impl HighWatermarks {
    /// From now on each namespace is a collection. The namespaces are not known yet.
    pub(super) fn split_by_namespace(&mut self) {
        self.by_namespace = true;
        self.namespaces_known = false;
        self.remove_collections(|_, _| true);
    }

    pub(super) fn add_namespace(&mut self, namespace: &str) {
        self.collections.entry(namespace.into()).or_default().watched = true;
    }

    /// All namespaces have been added: waits in other namespaces fail.
    pub(super) fn set_namespaces_known(&mut self) {
        self.namespaces_known = true;
        self.remove_collections(|_, collection| !collection.watched);
    }

    /// The namespace is no longer watched: waits in it fail.
    pub(super) fn remove_namespace(&mut self, namespace: &str) {
        if let Some(collection) = self.collections.remove(namespace) {
            self.ended.abandoned.extend(collection.waiters.into_values());
            release(&mut self.collections);
        }
    }

    /// The writer was dropped: all waits fail.
    pub(super) fn close(&mut self) {
        self.closed = true;
        for collection in self.collections.values_mut() {
            let without_waiters = Collection {
                watermark: collection.watermark,
                opaque: collection.opaque,
                ..Collection::default()
            };
            let waiters = std::mem::replace(collection, without_waiters).waiters;
            self.ended.abandoned.extend(waiters.into_values());
        }
    }

    /// The waits that ended since the last call.
    pub(super) fn take_ended(&mut self) -> EndedWaits {
        std::mem::take(&mut self.ended)
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    /// The first event of a list was received. O(waits) if the list before is abandoned.
    pub(super) fn start_list(&mut self, collection: &str) {
        if let Some(collection) = self.collections.get_mut(collection) {
            collection.start_list();
        }
    }

    /// A list was received completely, and is not visible yet.
    pub(super) fn complete_list(&mut self, collection: &str) {
        if let Some(Collection { lists, .. }) = self.collections.get_mut(collection) {
            lists.started = lists.started.max(1);
            lists.completed = lists.started;
        }
    }

    /// The last completed list is visible. `is_met` returns whether the visible state of an object ends a wait. O(waits).
    pub(super) fn show_list(
        &mut self,
        collection: &str,
        version: ListVersion,
        is_met: impl Fn(&ObjectKey, &Awaited) -> bool,
    ) {
        let Some(collection) = self.collections.get_mut(collection) else { return };
        let ends_wait = collection.set_list_version(version, &mut self.ended);
        let is_over = |waiter: &Waiter, by_object| {
            ends_wait(waiter) || (by_object && is_met(&waiter.key, &waiter.awaited))
        };
        collection.end_where(is_over, &mut self.ended);
    }

    /// Everything in the collection up to this version is known. An empty version makes versions opaque.
    pub(super) fn progress(&mut self, namespace: &str, version: &str) {
        let Some((collection, ended)) = self.collection(namespace) else { return };
        match parse(version) {
            Some(version) => collection.advance(version, ended),
            None => collection.set_opaque(true),
        }
    }

    /// The state of this version is visible, or, if `deleted`, removed. O(1), and O(log waits) for each wait that ends.
    pub(super) fn object_changed(
        &mut self,
        key: impl FnOnce() -> ObjectKey,
        namespace: &str,
        change: Visible<'_>,
        deleted: bool,
    ) {
        let Some((collection, ended)) = self.collection(namespace) else { return };
        if let Some(version) = change.version.and_then(parse) {
            collection.advance(version, ended);
        }
        if !collection.by_object.is_empty() {
            collection.end_by_object(&key(), change, deleted, ended);
        }
    }

    /// Begins a wait. `is_met` returns whether the visible state of the object ends it at once.
    pub(super) fn wait(
        &mut self,
        key: ObjectKey,
        awaited: Awaited,
        is_met: impl FnOnce(&ObjectKey, &Awaited) -> bool,
    ) -> StartedWait {
        let closed = self.closed;
        let number = self.last_waiter + 1;
        let namespace = key.namespace.as_deref().unwrap_or_default();
        let name: Box<str> = if self.by_namespace { namespace.into() } else { Box::default() };
        if !self.namespaces_known && !closed {
            self.collections.entry(name.clone()).or_default();
        }
        let Some(collection) = self.collections.get_mut(&name) else {
            return Err(if closed { NoWait::Closed } else { NoWait::NotWatched });
        };
        let is_over = match collection.version_of(&awaited) {
            Some(version) => collection.watermark.is_some_and(|watermark| watermark >= version),
            None => is_met(&key, &awaited),
        };
        if is_over {
            return Err(NoWait::AlreadyMet);
        }
        if closed {
            return Err(NoWait::Closed);
        }
        let ListGenerations { started, completed } = collection.lists;
        // The server may have answered one list before the wait began whose events are still to come. If a list is running, it is that one,
        // and the next list is a later one. Otherwise it may be the next list.
        let first_later_list = if started > completed { started + 1 } else { started + 2 };
        let (done, is_done) = oneshot::channel();
        collection.index(number, &key, &awaited);
        let waiter = Waiter { key, awaited, list_at_start: started, first_later_list, done };
        collection.waiters.insert(number, waiter);
        self.last_waiter = number;
        Ok((WaiterId { collection: name, number }, is_done))
    }

    /// Removes a wait, if it has not ended.
    pub(super) fn remove_waiter(&mut self, id: &WaiterId) {
        if let Some(collection) = self.collections.get_mut(&id.collection) {
            self.ended.abandoned.extend(collection.remove(id.number));
        }
    }

    #[cfg(test)]
    pub(super) fn has_no_waiters(&self) -> bool {
        self.collections
            .values()
            .all(|it| it.waiters.is_empty() && it.by_version.is_empty() && it.by_object.is_empty())
    }

    /// The collection of this namespace, and where its waits go when they end.
    fn collection(&mut self, namespace: &str) -> Option<(&mut Collection, &mut EndedWaits)> {
        let name = if self.by_namespace { namespace } else { "" };
        Some((self.collections.get_mut(name)?, &mut self.ended))
    }

    fn remove_collections(&mut self, predicate: impl FnMut(&Box<str>, &mut Collection) -> bool) {
        let removed = self.collections.extract_if(predicate);
        let waiters = removed.flat_map(|(_, collection)| collection.waiters.into_values());
        self.ended.abandoned.extend(waiters);
        release(&mut self.collections);
    }
}

impl Collection {
    fn start_list(&mut self) {
        let ListGenerations { started, completed } = self.lists;
        if started > completed {
            // The list before is abandoned. This one replaces it, and may have been requested before waits that began while that one ran.
            for waiter in self.waiters.values_mut().filter(|waiter| waiter.list_at_start == started) {
                waiter.first_later_list += 1;
            }
        }
        self.lists.started += 1;
    }

    /// Sets the watermark to the version of a list. Returns which waits the list itself ends.
    fn set_list_version(
        &mut self,
        version: ListVersion,
        ended: &mut EndedWaits,
    ) -> impl Fn(&Waiter) -> bool + use<> {
        let regressed = match (version, self.watermark) {
            (ListVersion::Known(new), Some(last)) => new < last,
            _ => false,
        };
        self.set_opaque(version == ListVersion::Opaque);
        self.watermark = match version {
            ListVersion::Known(version) => Some(version),
            ListVersion::Opaque => None,
            ListVersion::Unknown { highest } => highest,
        };
        if let Some(watermark) = self.watermark {
            self.advance(watermark, ended);
        }
        let generation = self.lists.completed;
        move |waiter| match version {
            // The storage was restored from a backup: earlier writes that it lacks never arrive.
            ListVersion::Known(_) => regressed && waiter.list_at_start < generation,
            ListVersion::Opaque | ListVersion::Unknown { .. } => waiter.first_later_list <= generation,
        }
    }

    fn set_opaque(&mut self, opaque: bool) {
        if self.opaque == opaque {
            return;
        }
        self.opaque = opaque;
        self.watermark = self.watermark.filter(|_| !opaque);
        self.by_version.clear();
        self.by_object.clear();
        let mut waiters = std::mem::take(&mut self.waiters);
        let mut numbers: Vec<u64> = waiters.keys().copied().collect();
        numbers.sort_unstable(); // a hash map's order would not be reproducible
        for number in numbers {
            let Some(waiter) = waiters.remove(&number) else { continue };
            self.index(number, &waiter.key, &waiter.awaited);
            self.waiters.insert(number, waiter);
        }
    }

    fn advance(&mut self, version: u128, ended: &mut EndedWaits) {
        if self.opaque {
            return;
        }
        let watermark = self.watermark.map_or(version, |watermark| watermark.max(version));
        self.watermark = Some(watermark);
        while let Some(&Reverse((_, number))) = self.by_version.peek().filter(|first| first.0.0 <= watermark)
        {
            self.by_version.pop();
            self.end(number, ended);
        }
        release(&mut self.by_version);
    }

    fn end_by_object(&mut self, key: &ObjectKey, change: Visible<'_>, deleted: bool, ended: &mut EndedWaits) {
        let Some(numbers) = self.by_object.get(key) else { return };
        let is_met = |number: &u64| {
            self.waiters.get(number).is_some_and(|waiter| waiter.awaited.is_met_by(change, deleted))
        };
        let met: Vec<u64> = numbers.iter().copied().filter(is_met).collect();
        met.into_iter().for_each(|number| self.end(number, ended));
    }

    /// Ends waits. The second argument of `is_over` is whether the wait ends by its object instead of the watermark.
    fn end_where(&mut self, is_over: impl Fn(&Waiter, bool) -> bool, ended: &mut EndedWaits) {
        let is_over = |waiter: &Waiter| is_over(waiter, self.version_of(&waiter.awaited).is_none());
        let mut over: Vec<u64> =
            self.waiters.iter().filter(|(_, waiter)| is_over(waiter)).map(|(number, _)| *number).collect();
        over.sort_unstable(); // a hash map's order would not be reproducible
        over.into_iter().for_each(|number| self.end(number, ended));
    }

    fn end(&mut self, number: u64, ended: &mut EndedWaits) {
        ended.completed.extend(self.remove(number).map(|waiter| waiter.done));
    }

    fn remove(&mut self, number: u64) -> Option<Waiter> {
        let waiter = self.waiters.remove(&number)?;
        release(&mut self.waiters);
        if self.version_of(&waiter.awaited).is_some() {
            self.forget_ended();
        } else if let Some(same_object) = self.by_object.get_mut(&waiter.key) {
            same_object.retain(|other| *other != number);
            if same_object.is_empty() {
                self.by_object.remove(&waiter.key);
                release(&mut self.by_object);
            }
        }
        Some(waiter)
    }

    /// Keeps at most two entries for each waiter. O(1) on average: half of the waits have ended since the last time that this did anything.
    fn forget_ended(&mut self) {
        if self.by_version.len() > 2 * self.waiters.len() {
            self.by_version.retain(|Reverse((_, number))| self.waiters.contains_key(number));
            release(&mut self.by_version);
        }
    }

    fn index(&mut self, number: u64, key: &ObjectKey, awaited: &Awaited) {
        match self.version_of(awaited) {
            Some(version) => self.by_version.push(Reverse((version, number))),
            None => self.by_object.entry(key.clone()).or_default().push(number),
        }
    }

    /// The version that the watermark has to reach; `None` if the wait ends by its object.
    fn version_of(&self, awaited: &Awaited) -> Option<u128> {
        match awaited {
            Awaited::State { version, .. } if !self.opaque => parse(version),
            Awaited::State { .. } | Awaited::End { .. } => None,
        }
    }
}

#[cfg(test)]
#[path = "watermark_tests.rs"]
mod tests;
