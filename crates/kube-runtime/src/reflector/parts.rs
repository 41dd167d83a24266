//! Several watches that fill one store: what each of their events means for the whole.

use super::store::Writer;
use super::{Lookup, ObjectKey};
use crate::watcher::{self, Event};
use ahash::AHashSet;
use std::{collections::BTreeMap, hash::Hash, sync::Arc};

/// The watches of several namespaces and the store they fill. No I/O: told what a watch brought, it says what the whole
/// of them brings.
pub(super) struct Parts<K>
where
    K: Lookup + Clone + 'static,
    K::DynamicType: Eq + Hash + Clone,
{
    writer: Writer<K>,
    parts: BTreeMap<String, Part<K>>,
    stage: Stage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Nobody has said yet which namespaces.
    Unasked,
    /// Not all first lists are complete.
    Listing,
    Following,
}

/// The watch of one namespace.
struct Part<K> {
    /// The names of the objects that count.
    names: AHashSet<Box<str>>,
    /// What the list under way has brought, by name: what a list changes is told in an order that can be repeated.
    listing: Option<BTreeMap<Box<str>, K>>,
    first: First,
}

/// What is known of the first list of a namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum First {
    UnderWay,
    /// The others do not wait for it any more.
    GivenUp,
    Complete,
}

/// What a change of the namespaces asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) joined: Vec<String>,
    pub(super) left: Vec<String>,
}

impl<K> Parts<K>
where
    K: Lookup + Clone + 'static,
    K::DynamicType: Eq + Hash + Clone,
{
    pub(super) fn new(writer: Writer<K>) -> Self {
        Self { writer, parts: BTreeMap::new(), stage: Stage::Unasked }
    }

    /// Whether all first lists that are waited for are complete.
    pub(super) fn is_complete(&self) -> bool {
        self.stage == Stage::Following
    }

    /// From now on, these namespaces count. Objects of those that leave are told as deleted.
    pub(super) fn set(
        &mut self,
        namespaces: impl IntoIterator<Item = String>,
        emit: &mut Vec<Event<Arc<K>>>,
    ) -> Change {
        if self.stage == Stage::Unasked {
            self.stage = Stage::Listing;
            self.pass(Event::Init, emit);
        }
        let wanted: AHashSet<String> = namespaces.into_iter().collect();
        let left: Vec<String> =
            self.parts.keys().filter(|namespace| !wanted.contains(*namespace)).cloned().collect();
        for namespace in &left {
            self.leave(namespace, emit);
        }
        let mut joined: Vec<String> =
            wanted.into_iter().filter(|namespace| !self.parts.contains_key(namespace)).collect();
        joined.sort();
        for namespace in &joined {
            let part = Part { names: AHashSet::new(), listing: None, first: First::UnderWay };
            self.parts.insert(namespace.clone(), part);
        }
        self.finish_if_complete(emit);
        Change { joined, left }
    }

    /// The watch of this namespace brought an event.
    pub(super) fn event(&mut self, namespace: &str, event: Event<K>, emit: &mut Vec<Event<Arc<K>>>) {
        let Some(part) = self.parts.get_mut(namespace) else { return };
        match (event, &mut part.listing) {
            (Event::Init, listing) => *listing = Some(BTreeMap::new()),
            (Event::InitDone, _) => self.listed(namespace, emit),
            (Event::InitApply(object) | Event::Apply(object), Some(listing)) => {
                listing.insert(name(&object), object);
            }
            (Event::Delete(object), Some(listing)) => drop(listing.remove(&name(&object))),
            (Event::InitApply(object) | Event::Apply(object), None) => {
                part.names.insert(name(&object));
                self.pass(Event::Apply(object), emit);
            }
            (Event::Delete(object), None) => {
                part.names.remove(&name(&object));
                self.pass(Event::Delete(object), emit);
            }
        }
    }

    /// The watch of this namespace failed. Where only people can change that, the others wait no more.
    pub(super) fn failed(&mut self, namespace: &str, error: &watcher::Error, emit: &mut Vec<Event<Arc<K>>>) {
        if error.is_permanent() {
            self.ended(namespace, emit);
        }
    }

    /// The watch of this namespace brings nothing more.
    pub(super) fn ended(&mut self, namespace: &str, emit: &mut Vec<Event<Arc<K>>>) {
        if let Some(part) = self.parts.get_mut(namespace)
            && part.first == First::UnderWay
        {
            part.first = First::GivenUp;
        }
        self.finish_if_complete(emit);
    }

    /// Enough time has passed: those that are complete wait for no other.
    pub(super) fn lose_patience(&mut self, emit: &mut Vec<Event<Arc<K>>>) {
        for part in self.parts.values_mut().filter(|part| part.first == First::UnderWay) {
            part.first = First::GivenUp;
        }
        self.finish_if_complete(emit);
    }

    fn listed(&mut self, namespace: &str, emit: &mut Vec<Event<Arc<K>>>) {
        let Some(part) = self.parts.get_mut(namespace) else { return };
        let listing = part.listing.take().unwrap_or_default();
        part.first = First::Complete;
        let before = std::mem::replace(&mut part.names, listing.keys().cloned().collect());
        if self.stage == Stage::Listing {
            self.forget(namespace, before.iter().filter(|name| !listing.contains_key(*name)), emit);
            for object in listing.into_values() {
                self.pass(Event::InitApply(object), emit);
            }
            self.finish_if_complete(emit);
        } else {
            emit.extend(self.writer.replace_in(namespace, &before, listing));
        }
    }

    fn leave(&mut self, namespace: &str, emit: &mut Vec<Event<Arc<K>>>) {
        let Some(part) = self.parts.remove(namespace) else { return };
        if self.stage == Stage::Following {
            emit.extend(self.writer.replace_in(namespace, &part.names, BTreeMap::new()));
            return;
        }
        self.forget(namespace, part.names.iter(), emit);
    }

    /// Takes objects of a namespace back out of the list of the whole.
    fn forget<'a>(
        &mut self,
        namespace: &str,
        names: impl Iterator<Item = &'a Box<str>>,
        emit: &mut Vec<Event<Arc<K>>>,
    ) {
        let reader = self.writer.as_reader();
        let mut names: Vec<_> = names.collect();
        names.sort_unstable();
        for name in names {
            let key = ObjectKey { namespace: Some(namespace.into()), name: name.clone() };
            if let Some(last) = reader.newest(&key) {
                self.pass(Event::Delete((*last).clone()), emit);
            }
        }
    }

    /// Ends the list of the whole when its parts are there. One at least has to be, unless there is none.
    fn finish_if_complete(&mut self, emit: &mut Vec<Event<Arc<K>>>) {
        let mut firsts = self.parts.values().map(|part| part.first);
        let complete = self.parts.is_empty() || firsts.clone().any(|first| first == First::Complete);
        if self.stage == Stage::Listing && complete && firsts.all(|first| first != First::UnderWay) {
            self.stage = Stage::Following;
            self.pass(Event::InitDone, emit);
        }
    }

    fn pass(&mut self, event: Event<K>, emit: &mut Vec<Event<Arc<K>>>) {
        emit.push(self.writer.take_in(event));
    }
}

fn name<K: Lookup>(object: &K) -> Box<str> {
    object.name().unwrap_or_default().as_ref().into()
}

#[cfg(test)]
#[path = "parts_tests.rs"]
mod tests;
