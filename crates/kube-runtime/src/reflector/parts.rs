//! Several watches that fill one store: what each of their events means for the whole.

use super::store::{IndexPanic, ListVersion, NamespaceList, Writer};
use super::{Lookup, ObjectKey};
use crate::{
    version::number,
    watcher::{self, CollectionEvent, Event, UndecodableObject},
};
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
    /// What the list under way has brought.
    listing: Option<NamespaceList<K>>,
    first: First,
    /// How far the namespace has come while the whole is not visible yet.
    reached: Option<ListVersion>,
}

/// What the watch of one namespace brings: public events, or all that is known of the collection.
#[derive(Debug, Clone)]
pub(crate) enum PartEvent<K> {
    Public(Event<K>),
    Collection(CollectionEvent<K>),
}

impl<K> From<Event<K>> for PartEvent<K> {
    fn from(event: Event<K>) -> Self {
        Self::Public(event)
    }
}

impl<K> From<CollectionEvent<K>> for PartEvent<K> {
    fn from(event: CollectionEvent<K>) -> Self {
        Self::Collection(event)
    }
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
    pub(super) fn new(mut writer: Writer<K>) -> Self {
        writer.split_by_namespace();
        Self { writer, parts: BTreeMap::new(), stage: Stage::Unasked }
    }

    /// Whether all first lists that are waited for are complete.
    pub(super) fn is_complete(&self) -> bool {
        self.stage == Stage::Following
    }

    /// The objects that index functions have panicked at since this was last asked.
    pub(super) fn take_index_panics(&mut self) -> Vec<IndexPanic> {
        self.writer.take_index_panics()
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
            let part = Part { names: AHashSet::new(), listing: None, first: First::UnderWay, reached: None };
            self.parts.insert(namespace.clone(), part);
            self.writer.join(namespace);
        }
        self.writer.settle();
        self.finish_if_complete(emit);
        Change { joined, left }
    }

    /// The watch of this namespace brought an event. `None` unless it is an error.
    pub(super) fn event(
        &mut self,
        namespace: &str,
        event: PartEvent<K>,
        emit: &mut Vec<Event<Arc<K>>>,
    ) -> Option<watcher::Error> {
        let event = match event {
            PartEvent::Public(event) => event,
            PartEvent::Collection(event) => match event {
                CollectionEvent::Init => Event::Init,
                CollectionEvent::InitApply(object) => Event::InitApply(object),
                CollectionEvent::Synced { resource_version } => {
                    self.listed(namespace, Some(ListVersion::of(&resource_version)), emit);
                    return None;
                }
                CollectionEvent::Apply(object) => Event::Apply(object),
                CollectionEvent::Delete(object) => Event::Delete(object),
                CollectionEvent::Progress { resource_version } => {
                    self.progress(namespace, &resource_version);
                    return None;
                }
                CollectionEvent::Undecodable(object) => {
                    self.undecodable(namespace, &object, emit);
                    return Some(object.into());
                }
            },
        };
        self.public_event(namespace, event, emit);
        None
    }

    fn public_event(&mut self, namespace: &str, event: Event<K>, emit: &mut Vec<Event<Arc<K>>>) {
        let Some(part) = self.parts.get_mut(namespace) else { return };
        match (event, &mut part.listing) {
            (Event::Init, listing) => {
                *listing = Some(NamespaceList::default());
                self.writer.start_list_in(namespace);
            }
            (Event::InitDone, _) => self.listed(namespace, None, emit),
            (Event::InitApply(object) | Event::Apply(object), Some(listing)) => {
                let name = name(&object);
                listing.undecodable.remove(&name);
                listing.objects.insert(name, object);
            }
            (Event::Delete(object), Some(listing)) => drop(listing.objects.remove(&name(&object))),
            (Event::InitApply(object) | Event::Apply(object), None) => {
                part.names.insert(name(&object));
                part.advance(&object);
                self.pass(Event::Apply(object), emit);
            }
            (Event::Delete(object), None) => {
                part.names.remove(&name(&object));
                part.advance(&object);
                self.pass(Event::Delete(object), emit);
            }
        }
    }

    fn progress(&mut self, namespace: &str, version: &str) {
        let Some(part) = self.parts.get_mut(namespace) else { return };
        if self.stage == Stage::Following {
            self.writer.progress_in(namespace, version);
        } else if let Some(reached) = &mut part.reached {
            *reached = ListVersion::of(version);
        }
    }

    /// An object of this namespace cannot be decoded. See [`Writer::undecodable`].
    fn undecodable(&mut self, namespace: &str, object: &UndecodableObject, emit: &mut Vec<Event<Arc<K>>>) {
        let Some(part) = self.parts.get_mut(namespace) else { return };
        let name: Box<str> = object.name.as_str().into();
        match &mut part.listing {
            Some(listing) => {
                listing.objects.remove(&name);
                if object.deleted {
                    listing.undecodable.remove(&name);
                } else {
                    listing.undecodable.insert(name, object.uid.clone());
                }
            }
            None => {
                if let Some(last) = self.writer.undecodable(object) {
                    part.names.remove(&name);
                    emit.push(Event::Delete(last));
                }
            }
        }
    }

    /// The watch of this namespace failed. Where only people can change that, the others wait no more.
    pub(super) fn failed(&mut self, namespace: &str, error: &watcher::Error, emit: &mut Vec<Event<Arc<K>>>) {
        let mut about_objects = false;
        for object in error.undecodable() {
            about_objects = true;
            self.undecodable(namespace, object, emit);
        }
        if !about_objects && error.is_permanent() {
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

    /// The list of a namespace is complete. `version`: what its watcher says of it.
    fn listed(&mut self, namespace: &str, version: Option<ListVersion>, emit: &mut Vec<Event<Arc<K>>>) {
        let Some(part) = self.parts.get_mut(namespace) else { return };
        self.writer.list_arrived_in(namespace);
        let list = part.listing.take().unwrap_or_default();
        let highest = list.objects.values().filter_map(version_of).max();
        let version = version.unwrap_or(ListVersion::Unknown { highest });
        part.first = First::Complete;
        let mut names: AHashSet<Box<str>> = list.objects.keys().cloned().collect();
        names.extend(list.undecodable.keys().filter(|name| part.names.contains(*name)).cloned());
        let before = std::mem::replace(&mut part.names, names);
        if self.stage == Stage::Listing {
            part.reached = Some(version);
            self.forget(
                namespace,
                before.iter().filter(|name| !list.objects.contains_key(*name)),
                &list,
                emit,
            );
            for object in list.objects.into_values() {
                self.pass(Event::InitApply(object), emit);
            }
            self.finish_if_complete(emit);
        } else {
            emit.extend(self.writer.replace_in(namespace, &before, list));
            self.writer.finish_list_in(namespace, version);
        }
    }

    fn leave(&mut self, namespace: &str, emit: &mut Vec<Event<Arc<K>>>) {
        let Some(part) = self.parts.remove(namespace) else { return };
        let nothing = NamespaceList::default();
        if self.stage == Stage::Following {
            emit.extend(self.writer.replace_in(namespace, &part.names, nothing));
        } else {
            self.forget(namespace, part.names.iter(), &nothing, emit);
        }
        self.writer.leave(namespace);
    }

    /// Takes objects of a namespace back out of the list of the whole.
    fn forget<'a>(
        &mut self,
        namespace: &str,
        names: impl Iterator<Item = &'a Box<str>>,
        list: &NamespaceList<K>,
        emit: &mut Vec<Event<Arc<K>>>,
    ) {
        let reader = self.writer.as_reader();
        let mut names: Vec<_> = names.collect();
        names.sort_unstable();
        for name in names {
            let key = ObjectKey { namespace: Some(namespace.into()), name: name.clone() };
            if let Some(last) = reader.newest(&key).filter(|last| !list.keeps(name, last)) {
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
            for (namespace, part) in &mut self.parts {
                if let Some(reached) = part.reached.take() {
                    self.writer.finish_list_in(namespace, reached);
                }
            }
        }
    }

    fn pass(&mut self, event: Event<K>, emit: &mut Vec<Event<Arc<K>>>) {
        emit.push(self.writer.take_in(event));
    }
}

impl<K: Lookup> Part<K> {
    /// Notes an object that came before the whole was visible.
    fn advance(&mut self, object: &K) {
        let version = version_of(object);
        match (&mut self.reached, version) {
            (Some(ListVersion::Known(reached)), Some(version)) => *reached = version.max(*reached),
            (Some(ListVersion::Unknown { highest }), version) => *highest = version.max(*highest),
            _ => {}
        }
    }
}

fn version_of<K: Lookup>(object: &K) -> Option<u128> {
    object.resource_version().as_deref().and_then(number)
}

fn name<K: Lookup>(object: &K) -> Box<str> {
    object.name().unwrap_or_default().as_ref().into()
}

#[cfg(test)]
#[path = "parts_tests.rs"]
mod tests;
