//! Several watches, one for each namespace, that fill one store. It has no I/O.

use super::{
    object_key::ObjectKey,
    object_ref::Lookup,
    store::{IndexPanic, ListVersion, NamespaceList, Writer, is_same_write},
};
use crate::{
    capacity::release,
    version::parse,
    watcher::{self, CollectionEvent, Event, UndecodableObject},
};
use hashbrown::HashSet;
use std::{
    collections::{BTreeMap, BTreeSet},
    hash::Hash,
    sync::Arc,
};

/// The watched namespaces and the store that they fill. It combines the events of the watches into those of one list followed by
/// changes.
pub(crate) struct NamespaceSet<K>
where
    K: Lookup + Clone + 'static,
    K::DynamicType: Eq + Hash + Clone,
{
    writer: Writer<K>,
    namespaces: BTreeMap<String, WatchedNamespace<K>>,
    stage: Stage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The namespaces are not known yet.
    NotStarted,
    /// Some initial lists are pending. The store is not ready.
    Syncing,
    Synced,
}

struct WatchedNamespace<K> {
    /// The names of its objects in the store.
    names: HashSet<Box<str>>,
    running_list: Option<NamespaceList<K>>,
    /// Whether the storage went back since its last complete list, as an error of its stream or an object of the running one has shown.
    history_lost: bool,
    initial_sync: InitialSync,
    /// The version of its list, until the store is ready.
    list_version: Option<ListVersion>,
}

/// An event of the watch of one namespace.
#[derive(Debug, Clone)]
pub(crate) enum NamespaceEvent<K> {
    Public(Event<Arc<K>>),
    Collection(CollectionEvent<Arc<K>>),
}

impl<K, T: Into<Arc<K>>> From<Event<T>> for NamespaceEvent<K> {
    fn from(event: Event<T>) -> Self {
        Self::Public(event.map(Into::into))
    }
}

impl<K, T: Into<Arc<K>>> From<CollectionEvent<T>> for NamespaceEvent<K> {
    fn from(event: CollectionEvent<T>) -> Self {
        Self::Collection(event.map(Into::into))
    }
}

/// The state of the initial list of a namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InitialSync {
    Pending,
    /// It failed or timed out: the store becomes ready without it.
    GivenUp,
    Complete,
}

/// The watches to start and to stop.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NamespaceChange {
    pub(super) added: Vec<String>,
    pub(super) removed: Vec<String>,
}

impl<K> NamespaceSet<K>
where
    K: Lookup + Clone + 'static,
    K::DynamicType: Eq + Hash + Clone,
{
    pub(super) fn new(mut writer: Writer<K>) -> Self {
        writer.split_by_namespace();
        Self { writer, namespaces: BTreeMap::new(), stage: Stage::NotStarted }
    }

    /// Whether no initial list is pending.
    pub(super) fn is_synced(&self) -> bool {
        self.stage == Stage::Synced
    }

    /// The panics of index functions since the last call.
    pub(super) fn take_index_panics(&mut self) -> Vec<IndexPanic> {
        self.writer.take_index_panics()
    }

    /// Replaces the set of watched namespaces. Emits a deletion for each object of a removed namespace.
    pub(super) fn set_namespaces(
        &mut self,
        namespaces: impl IntoIterator<Item = String>,
        emit: &mut Vec<Event<Arc<K>>>,
    ) -> NamespaceChange {
        if self.stage == Stage::NotStarted {
            self.stage = Stage::Syncing;
            self.write(Event::Init, emit);
        }
        let wanted: BTreeSet<String> = namespaces.into_iter().collect();
        let removed: Vec<String> =
            self.namespaces.keys().filter(|namespace| !wanted.contains(*namespace)).cloned().collect();
        for namespace in &removed {
            self.remove_namespace(namespace, emit);
        }
        let added: Vec<String> =
            wanted.into_iter().filter(|namespace| !self.namespaces.contains_key(namespace)).collect();
        for namespace in &added {
            let watched = WatchedNamespace {
                names: HashSet::new(),
                running_list: None,
                history_lost: false,
                initial_sync: InitialSync::Pending,
                list_version: None,
            };
            self.namespaces.insert(namespace.clone(), watched);
            self.writer.add_namespace(namespace);
        }
        self.writer.set_namespaces_known();
        self.finish_sync_if_complete(emit);
        NamespaceChange { added, removed }
    }

    /// Applies an event of the watch of this namespace. Returns the error of an undecodable object.
    pub(super) fn event(
        &mut self,
        namespace: &str,
        event: NamespaceEvent<K>,
        emit: &mut Vec<Event<Arc<K>>>,
    ) -> Option<watcher::ErasedError> {
        let event = match event {
            NamespaceEvent::Public(Event::InitApply(object)) => {
                Event::InitApply(self.visible_if_unchanged(namespace, object))
            }
            NamespaceEvent::Public(event) => event,
            NamespaceEvent::Collection(event) => match event {
                CollectionEvent::Init => Event::Init,
                CollectionEvent::InitApply(object) => Event::InitApply(object),
                CollectionEvent::Synced { resource_version } => {
                    self.finish_list(namespace, Some(ListVersion::of(&resource_version)), emit);
                    return None;
                }
                CollectionEvent::Apply(object) => Event::Apply(object),
                CollectionEvent::Delete(object) => Event::Delete(object),
                CollectionEvent::Progress { resource_version } => {
                    self.progress(namespace, &resource_version);
                    return None;
                }
                CollectionEvent::Closed => return None,
                CollectionEvent::Undecodable(object) => {
                    self.undecodable(namespace, &object, emit);
                    return Some(object.into());
                }
            },
        };
        self.public_event(namespace, event, emit);
        None
    }

    fn public_event(&mut self, namespace: &str, event: Event<Arc<K>>, emit: &mut Vec<Event<Arc<K>>>) {
        let Some(watched) = self.namespaces.get_mut(namespace) else { return };
        match (event, &mut watched.running_list) {
            (Event::Init, running_list) => {
                *running_list = Some(NamespaceList::default());
                self.writer.start_list_in(namespace);
            }
            (Event::InitDone, _) => self.finish_list(namespace, None, emit),
            (Event::InitApply(object) | Event::Apply(object), Some(list)) => {
                let name = name(&*object);
                list.undecodable.remove(&name);
                list.objects.insert(name, object);
            }
            (Event::Delete(object), Some(list)) => drop(list.objects.remove(&name(&*object))),
            (Event::InitApply(object) | Event::Apply(object), None) => {
                watched.names.insert(name(&*object));
                watched.advance(&object);
                self.write(Event::Apply(object), emit);
            }
            (Event::Delete(object), None) => {
                watched.names.remove(&name(&*object));
                release(&mut watched.names);
                watched.advance(&object);
                self.write(Event::Delete(object), emit);
            }
        }
    }

    /// A public stream decodes what it lists, also if the store has it in this version. See [`Writer::pass_through`].
    fn visible_if_unchanged(&mut self, namespace: &str, listed: Arc<K>) -> Arc<K> {
        let Some(watched) = self.namespaces.get_mut(namespace).filter(|watched| !watched.history_lost) else {
            return listed;
        };
        let Some(visible) = self.writer.shared().same_version(&*listed) else { return listed };
        watched.history_lost = !is_same_write(&*visible, &*listed);
        if watched.history_lost { listed } else { visible }
    }

    fn progress(&mut self, namespace: &str, version: &str) {
        let Some(watched) = self.namespaces.get_mut(namespace) else { return };
        if self.stage == Stage::Synced {
            self.writer.progress_in(namespace, version);
        } else if let Some(list_version) = &mut watched.list_version {
            *list_version = ListVersion::of(version);
        }
    }

    /// See [`Writer::undecodable`].
    fn undecodable(&mut self, namespace: &str, object: &UndecodableObject, emit: &mut Vec<Event<Arc<K>>>) {
        let Some(watched) = self.namespaces.get_mut(namespace) else { return };
        let name: Box<str> = object.name.as_str().into();
        match &mut watched.running_list {
            Some(list) => {
                list.objects.remove(&name);
                if object.deleted {
                    list.undecodable.remove(&name);
                } else {
                    list.undecodable.insert(name, object.uid.clone());
                }
            }
            None => {
                if let Some(last) = self.writer.undecodable(object) {
                    watched.names.remove(&name);
                    release(&mut watched.names);
                    emit.push(Event::Delete(last));
                }
            }
        }
    }

    /// The watch of this namespace failed. After a permanent error the initial sync no longer waits for it.
    pub(super) fn failed(&mut self, namespace: &str, error: &watcher::Error, emit: &mut Vec<Event<Arc<K>>>) {
        if error.is_storage_went_back()
            && let Some(watched) = self.namespaces.get_mut(namespace)
        {
            watched.history_lost = true;
        }
        let mut is_about_objects = false;
        for object in error.undecodable() {
            is_about_objects = true;
            self.undecodable(namespace, object, emit);
        }
        if !is_about_objects && error.is_permanent() {
            self.watch_ended(namespace, emit);
        }
    }

    /// The watch of this namespace ended.
    pub(super) fn watch_ended(&mut self, namespace: &str, emit: &mut Vec<Event<Arc<K>>>) {
        if let Some(watched) = self.namespaces.get_mut(namespace)
            && watched.initial_sync == InitialSync::Pending
        {
            watched.initial_sync = InitialSync::GivenUp;
        }
        self.finish_sync_if_complete(emit);
    }

    /// The initial sync took too long: it no longer waits for the pending namespaces.
    pub(super) fn on_sync_timeout(&mut self, emit: &mut Vec<Event<Arc<K>>>) {
        for watched in self.namespaces.values_mut().filter(|it| it.initial_sync == InitialSync::Pending) {
            watched.initial_sync = InitialSync::GivenUp;
        }
        self.finish_sync_if_complete(emit);
    }

    /// The list of a namespace is complete. `version` is that of a [`CollectionEvent`].
    fn finish_list(&mut self, namespace: &str, version: Option<ListVersion>, emit: &mut Vec<Event<Arc<K>>>) {
        let Some(watched) = self.namespaces.get_mut(namespace) else { return };
        self.writer.complete_list_in(namespace);
        let list = watched.running_list.take().unwrap_or_default();
        let highest = list.objects.values().filter_map(|object| version_of(&**object)).max();
        let version = version.unwrap_or(ListVersion::Unknown { highest });
        watched.initial_sync = InitialSync::Complete;
        watched.history_lost = false;
        let mut names: HashSet<Box<str>> = list.objects.keys().cloned().collect();
        names.extend(list.undecodable.keys().filter(|name| watched.names.contains(*name)).cloned());
        let old = std::mem::replace(&mut watched.names, names);
        if self.stage == Stage::Syncing {
            watched.list_version = Some(version);
            let missing = old.iter().filter(|name| !list.objects.contains_key(*name));
            self.remove_from_list(namespace, missing, &list, emit);
            for object in list.objects.into_values() {
                self.write(Event::InitApply(object), emit);
            }
            self.finish_sync_if_complete(emit);
        } else {
            emit.extend(self.writer.replace_in(namespace, &old, list));
            self.writer.show_list_in(namespace, version);
        }
    }

    fn remove_namespace(&mut self, namespace: &str, emit: &mut Vec<Event<Arc<K>>>) {
        let Some(watched) = self.namespaces.remove(namespace) else { return };
        let empty = NamespaceList::default();
        if self.stage == Stage::Synced {
            emit.extend(self.writer.replace_in(namespace, &watched.names, empty));
        } else {
            self.remove_from_list(namespace, watched.names.iter(), &empty, emit);
        }
        self.writer.remove_namespace(namespace);
    }

    /// Removes objects of a namespace from the store's initial list, except those that `list` retains.
    fn remove_from_list<'a>(
        &mut self,
        namespace: &str,
        names: impl Iterator<Item = &'a Box<str>>,
        list: &NamespaceList<K>,
        emit: &mut Vec<Event<Arc<K>>>,
    ) {
        let mut names: Vec<_> = names.collect();
        names.sort_unstable();
        for name in names {
            let key = ObjectKey { namespace: Some(namespace.into()), name: name.clone() };
            if let Some(last) = self.writer.newest(&key).filter(|last| !list.retains(name, last)) {
                self.write(Event::Delete(last), emit);
            }
        }
    }

    /// Completes the store's initial list when no namespace is pending and at least one is complete, or there is none.
    fn finish_sync_if_complete(&mut self, emit: &mut Vec<Event<Arc<K>>>) {
        let mut syncs = self.namespaces.values().map(|watched| watched.initial_sync);
        let any_complete =
            self.namespaces.is_empty() || syncs.clone().any(|sync| sync == InitialSync::Complete);
        let none_pending = syncs.all(|sync| sync != InitialSync::Pending);
        if self.stage == Stage::Syncing && any_complete && none_pending {
            self.stage = Stage::Synced;
            self.write(Event::InitDone, emit);
            for (namespace, watched) in &mut self.namespaces {
                if let Some(version) = watched.list_version.take() {
                    self.writer.show_list_in(namespace, version);
                }
            }
        }
    }

    fn write(&mut self, event: Event<Arc<K>>, emit: &mut Vec<Event<Arc<K>>>) {
        emit.push(self.writer.apply_event(event));
    }
}

impl<K: Lookup> WatchedNamespace<K> {
    /// Advances the list version by a change that arrived before the store was ready.
    fn advance(&mut self, object: &K) {
        let version = version_of(object);
        match (&mut self.list_version, version) {
            (Some(ListVersion::Known(known)), Some(version)) => *known = version.max(*known),
            (Some(ListVersion::Unknown { highest }), version) => *highest = version.max(*highest),
            _ => {}
        }
    }
}

fn version_of<K: Lookup>(object: &K) -> Option<u128> {
    object.resource_version().as_deref().and_then(parse)
}

fn name<K: Lookup>(object: &K) -> Box<str> {
    object.name().unwrap_or_default().as_ref().into()
}

#[cfg(test)]
#[path = "namespace_set_tests.rs"]
mod tests;
