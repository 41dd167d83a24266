//! How far each watched collection has come, and who waits for it to come further.

use crate::{reflector::ObjectKey, version::number};
use ahash::AHashMap;
use std::collections::{BTreeMap, BTreeSet};
use tokio::sync::oneshot;

/// The highest version that is known of each collection that fills a store, and the waits for higher ones.
///
/// A store is filled by one collection, or by one for each namespace. A watch brings the changes of its collection in the order
/// of their versions. So everything up to the highest one is known, whether it is still there or not.
///
/// No I/O in here, and nobody is woken: told what became visible, it hands out the [`Ended`] waits that were for it.
#[derive(Debug)]
pub(super) struct HighWatermarks {
    /// By namespace, or by the empty name where one collection fills the store.
    collections: AHashMap<Box<str>, Collection>,
    by_namespace: bool,
    /// Whether it is known which collections there are.
    settled: bool,
    last_waiter: u64,
    closed: bool,
    ended: Ended,
}

/// Waits that have ended, to be told so without a lock: a waker may be code of users.
#[derive(Debug, Default)]
pub(super) struct Ended {
    over: Vec<oneshot::Sender<()>>,
    /// What these waited for does not come, or nobody waits for it any more.
    given_up: Vec<Waiter>,
}

impl Ended {
    pub(super) fn wake(self) {
        for done in self.over {
            done.send(()).ok(); // whoever waited may have gone
        }
        drop(self.given_up);
    }
}

/// What the end of a list says about the versions of its collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::reflector) enum ListVersion {
    /// Everything up to this one is known.
    Known(u128),
    /// Versions cannot be compared between objects ([KEP-5504](https://kep.k8s.io/5504)).
    Opaque,
    /// Nobody said: the list came by public events. It reaches at least as far as its objects.
    Unknown { highest: Option<u128> },
}

impl ListVersion {
    /// What a watcher says of its collection; empty for versions that cannot be compared.
    pub(in crate::reflector) fn of(resource_version: &str) -> Self {
        number(resource_version).map_or(Self::Opaque, Self::Known)
    }
}

/// What is waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Awaited {
    /// This state of the object, or anything later.
    State {
        uid: Option<Box<str>>,
        version: Box<str>,
        /// Whether the object was visible before: then its absence is something later.
        was_visible: bool,
    },
    /// That the object with one of these uids is no longer visible.
    End { uids: Vec<Box<str>> },
}

/// What readers see of an object.
#[derive(Debug, Clone, Copy)]
pub(super) struct Visible<'a> {
    pub(super) uid: Option<&'a str>,
    pub(super) version: Option<&'a str>,
}

/// One wait, to be given back when nobody waits any more.
#[derive(Debug)]
pub(super) struct WaiterId {
    collection: Box<str>,
    number: u64,
}

/// Why a wait cannot begin.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NoWait {
    /// It is over already.
    Visible,
    /// Nothing fills the store any more.
    Closed,
    /// The store is filled by namespaces, and this is none of them.
    NotWatched,
}

#[derive(Debug, Default)]
struct Collection {
    /// Whether something fills it, or will perhaps.
    joined: bool,
    /// Everything up to this version is known.
    mark: Option<u128>,
    /// Versions say nothing about other objects.
    opaque: bool,
    lists: ListGenerations,
    waiters: AHashMap<u64, Waiter>,
    /// The waits that end by the mark, the lowest version first.
    by_version: BTreeSet<(u128, u64)>,
    /// The others, which end by what happens to their object.
    by_object: AHashMap<ObjectKey, Vec<u64>>,
}

/// How many lists there were.
#[derive(Debug, Clone, Copy, Default)]
struct ListGenerations {
    /// Each that begins to arrive has the next number. None is 0.
    begun: u64,
    /// The number of the last one that has arrived; less than `begun` while one is under way.
    arrived: u64,
}

#[derive(Debug)]
struct Waiter {
    key: ObjectKey,
    awaited: Awaited,
    /// How many lists had begun to arrive before.
    begun: u64,
    /// The first list that was surely requested afterwards, unless the one under way is given up.
    requested_after: u64,
    done: oneshot::Sender<()>,
}

impl Default for HighWatermarks {
    fn default() -> Self {
        Self {
            collections: [(Box::default(), Collection::default())].into(),
            by_namespace: false,
            settled: true,
            last_waiter: 0,
            closed: false,
            ended: Ended::default(),
        }
    }
}

impl HighWatermarks {
    /// From now on each namespace is a collection of its own. Which there are is not known yet.
    pub(super) fn split_by_namespace(&mut self) {
        self.by_namespace = true;
        self.settled = false;
        self.give_up(|_, _| true);
    }

    pub(super) fn join(&mut self, namespace: &str) {
        self.collections.entry(namespace.into()).or_default().joined = true;
    }

    /// All namespaces there are have joined: waits for what is in others end with an error.
    pub(super) fn settle(&mut self) {
        self.settled = true;
        self.give_up(|_, collection| !collection.joined);
    }

    /// The namespace is no longer watched: waits for what is in it end with an error.
    pub(super) fn leave(&mut self, namespace: &str) {
        if let Some(collection) = self.collections.remove(namespace) {
            self.ended.given_up.extend(collection.waiters.into_values());
        }
    }

    /// Nothing fills the store any more: all waits end with an error.
    pub(super) fn close(&mut self) {
        self.closed = true;
        for collection in self.collections.values_mut() {
            let left =
                Collection { mark: collection.mark, opaque: collection.opaque, ..Collection::default() };
            let waiters = std::mem::replace(collection, left).waiters;
            self.ended.given_up.extend(waiters.into_values());
        }
    }

    /// The waits that have ended since this was last asked.
    pub(super) fn take_ended(&mut self) -> Ended {
        std::mem::take(&mut self.ended)
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    /// A list of this collection begins to arrive. O(waits) if the one before is given up.
    pub(super) fn start_list(&mut self, collection: &str) {
        if let Some(collection) = self.collections.get_mut(collection) {
            collection.start_list();
        }
    }

    /// The list of this collection has arrived. It is not visible yet.
    pub(super) fn list_arrived(&mut self, collection: &str) {
        if let Some(Collection { lists, .. }) = self.collections.get_mut(collection) {
            lists.begun = lists.begun.max(1);
            lists.arrived = lists.begun;
        }
    }

    /// The list that arrived last is visible, and nothing else is. `is_met` says whether a wait is over by what readers see.
    /// O(waits).
    pub(super) fn finish_list(
        &mut self,
        collection: &str,
        version: ListVersion,
        is_met: impl Fn(&ObjectKey, &Awaited) -> bool,
    ) {
        let Some(collection) = self.collections.get_mut(collection) else { return };
        let ends_waits = collection.set_list_version(version, &mut self.ended);
        let is_over = |waiter: &Waiter, by_object| {
            ends_waits(waiter) || (by_object && is_met(&waiter.key, &waiter.awaited))
        };
        collection.end_where(is_over, &mut self.ended);
    }

    /// Everything in the collection up to this version is known; empty where versions cannot be compared.
    pub(super) fn progress(&mut self, namespace: &str, version: &str) {
        let Some((collection, ended)) = self.collection(namespace) else { return };
        match number(version) {
            Some(version) => collection.advance(version, ended),
            None => collection.set_opaque(true),
        }
    }

    /// The state of this version is visible now, or, where the object was deleted, gone. O(1), and O(log waits) for each wait
    /// that ends by it.
    pub(super) fn changed(
        &mut self,
        key: impl FnOnce() -> ObjectKey,
        namespace: &str,
        change: Visible<'_>,
        deleted: bool,
    ) {
        let Some((collection, ended)) = self.collection(namespace) else { return };
        if let Some(version) = change.version.and_then(number) {
            collection.advance(version, ended);
        }
        if !collection.by_object.is_empty() {
            collection.look_at(&key(), change, deleted, ended);
        }
    }

    /// Begins a wait. `is_met` says whether it is over by what readers see.
    pub(super) fn wait(
        &mut self,
        key: ObjectKey,
        awaited: Awaited,
        is_met: impl FnOnce(&ObjectKey, &Awaited) -> bool,
    ) -> Result<(WaiterId, oneshot::Receiver<()>), NoWait> {
        let closed = self.closed;
        let number = self.last_waiter + 1;
        let namespace = key.namespace.as_deref().unwrap_or_default();
        let name: Box<str> = if self.by_namespace { namespace.into() } else { Box::default() };
        if !self.settled && !closed {
            self.collections.entry(name.clone()).or_default();
        }
        let Some(collection) = self.collections.get_mut(&name) else {
            return Err(if closed { NoWait::Closed } else { NoWait::NotWatched });
        };
        let is_over = match collection.version_of(&awaited) {
            Some(version) => collection.mark.is_some_and(|mark| mark >= version),
            None => is_met(&key, &awaited),
        };
        if is_over {
            return Err(NoWait::Visible);
        }
        if closed {
            return Err(NoWait::Closed);
        }
        let ListGenerations { begun, arrived } = collection.lists;
        // The answer to a request of before may still be under way. Of a list that has begun to arrive, the next one
        // was requested later; otherwise the next one is that answer perhaps.
        let requested_after = if begun > arrived { begun + 1 } else { begun + 2 };
        let (done, is_done) = oneshot::channel();
        collection.index(number, &key, &awaited);
        collection.waiters.insert(number, Waiter { key, awaited, begun, requested_after, done });
        self.last_waiter = number;
        Ok((WaiterId { collection: name, number }, is_done))
    }

    /// Ends a wait, if it has not ended by itself.
    pub(super) fn forget(&mut self, id: &WaiterId) {
        if let Some(collection) = self.collections.get_mut(&id.collection) {
            self.ended.given_up.extend(collection.take(id.number));
        }
    }

    #[cfg(test)]
    pub(super) fn is_idle(&self) -> bool {
        self.collections
            .values()
            .all(|it| it.waiters.is_empty() && it.by_version.is_empty() && it.by_object.is_empty())
    }

    /// The collection that objects of this namespace belong to, and where its waits go when they end.
    fn collection(&mut self, namespace: &str) -> Option<(&mut Collection, &mut Ended)> {
        let name = if self.by_namespace { namespace } else { "" };
        Some((self.collections.get_mut(name)?, &mut self.ended))
    }

    fn give_up(&mut self, lost: impl FnMut(&Box<str>, &mut Collection) -> bool) {
        let waiters =
            self.collections.extract_if(lost).flat_map(|(_, collection)| collection.waiters.into_values());
        self.ended.given_up.extend(waiters);
    }
}

impl Collection {
    fn start_list(&mut self) {
        let ListGenerations { begun, arrived } = self.lists;
        if begun > arrived {
            // What comes in the place of a list that was given up may have been requested before a wait that began meanwhile.
            for waiter in self.waiters.values_mut().filter(|waiter| waiter.begun == begun) {
                waiter.requested_after += 1;
            }
        }
        self.lists.begun += 1;
    }

    /// Takes over what a list says of versions. Returns which waits end by the list alone.
    fn set_list_version(
        &mut self,
        version: ListVersion,
        ended: &mut Ended,
    ) -> impl Fn(&Waiter) -> bool + use<> {
        let went_back = match (version, self.mark) {
            (ListVersion::Known(now), Some(before)) => now < before,
            _ => false,
        };
        self.set_opaque(version == ListVersion::Opaque);
        self.mark = match version {
            ListVersion::Known(version) => Some(version),
            ListVersion::Opaque => None,
            ListVersion::Unknown { highest } => highest,
        };
        if let Some(mark) = self.mark {
            self.advance(mark, ended);
        }
        let generation = self.lists.arrived;
        move |waiter| match version {
            // What was written to a storage that has been replaced by an older one never comes.
            ListVersion::Known(_) => went_back && waiter.begun < generation,
            ListVersion::Opaque | ListVersion::Unknown { .. } => waiter.requested_after <= generation,
        }
    }

    fn set_opaque(&mut self, opaque: bool) {
        if self.opaque == opaque {
            return;
        }
        self.opaque = opaque;
        self.mark = self.mark.filter(|_| !opaque);
        self.by_version.clear();
        self.by_object.clear();
        let all: BTreeMap<u64, Waiter> = std::mem::take(&mut self.waiters).into_iter().collect();
        for (number, waiter) in all {
            self.index(number, &waiter.key, &waiter.awaited);
            self.waiters.insert(number, waiter);
        }
    }

    fn advance(&mut self, version: u128, ended: &mut Ended) {
        if self.opaque {
            return;
        }
        let mark = self.mark.map_or(version, |mark| mark.max(version));
        self.mark = Some(mark);
        while let Some((_, number)) = self.by_version.first().copied().filter(|first| first.0 <= mark) {
            self.end(number, ended);
        }
    }

    fn look_at(&mut self, key: &ObjectKey, change: Visible<'_>, deleted: bool, ended: &mut Ended) {
        let Some(numbers) = self.by_object.get(key) else { return };
        let met = |number: &u64| {
            self.waiters.get(number).is_some_and(|waiter| waiter.awaited.is_met_by(change, deleted))
        };
        let met: Vec<u64> = numbers.iter().copied().filter(met).collect();
        met.into_iter().for_each(|number| self.end(number, ended));
    }

    /// Ends waits. `is_over` is told whether what happens to the object decides, and not the mark.
    fn end_where(&mut self, is_over: impl Fn(&Waiter, bool) -> bool, ended: &mut Ended) {
        let is_over = |waiter: &Waiter| is_over(waiter, self.version_of(&waiter.awaited).is_none());
        let mut over: Vec<u64> =
            self.waiters.iter().filter(|(_, waiter)| is_over(waiter)).map(|(number, _)| *number).collect();
        over.sort_unstable(); // rather than in the order of a hash map, which nobody can repeat
        over.into_iter().for_each(|number| self.end(number, ended));
    }

    fn end(&mut self, number: u64, ended: &mut Ended) {
        ended.over.extend(self.take(number).map(|waiter| waiter.done));
    }

    fn take(&mut self, number: u64) -> Option<Waiter> {
        let waiter = self.waiters.remove(&number)?;
        if let Some(version) = self.version_of(&waiter.awaited) {
            self.by_version.remove(&(version, number));
        } else if let Some(same_object) = self.by_object.get_mut(&waiter.key) {
            same_object.retain(|other| *other != number);
            if same_object.is_empty() {
                self.by_object.remove(&waiter.key);
            }
        }
        Some(waiter)
    }

    fn index(&mut self, number: u64, key: &ObjectKey, awaited: &Awaited) {
        match self.version_of(awaited) {
            Some(version) => drop(self.by_version.insert((version, number))),
            None => self.by_object.entry(key.clone()).or_default().push(number),
        }
    }

    /// The version that the mark has to reach, if the mark can tell.
    fn version_of(&self, awaited: &Awaited) -> Option<u128> {
        match awaited {
            Awaited::State { version, .. } if !self.opaque => number(version),
            Awaited::State { .. } | Awaited::End { .. } => None,
        }
    }
}

impl Awaited {
    /// Whether this is over, seeing what readers see of the object.
    pub(super) fn is_met(&self, visible: Option<Visible<'_>>) -> bool {
        match (self, visible) {
            (_, Some(visible)) => self.is_met_by(visible, false),
            (Self::State { was_visible, .. }, None) => *was_visible,
            (Self::End { .. }, None) => true,
        }
    }

    fn is_met_by(&self, Visible { uid, version }: Visible<'_>, deleted: bool) -> bool {
        match self {
            Self::State { uid: expected, version: expected_version, .. } => {
                let same = expected.is_none() || expected.as_deref() == uid;
                // Servers that count for each object alone do count: a later state of the same object says enough.
                let later = || {
                    expected.is_some()
                        && number(expected_version).is_some_and(|it| version.and_then(number) >= Some(it))
                };
                same && (deleted || version == Some(&**expected_version) || later())
            }
            Self::End { uids } => deleted || uid.is_some_and(|uid| uids.iter().all(|ended| **ended != *uid)),
        }
    }
}

#[cfg(test)]
#[path = "watermark_tests.rs"]
mod tests;
