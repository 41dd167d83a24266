//! The objects that a store has already, so that a list does not decode them or store them once more.
//!
//! An object is known by its uid and resourceVersion, which tell its state within one history of the storage only. The watch that asks
//! compares the received bytes as well. So for whoever gets the objects, unchanged means the same `Arc`. A stream of the program does not
//! ask, and has no bytes: there the writer compares the metadata, in which servers note when, by whom and in which fields an object was
//! written last.

use super::writer::Writer;
use crate::{
    reflector::Lookup,
    watcher::{self, Event},
};
use kube_client::client::{KnownObjects, ObjectVersion};
use std::{hash::Hash, sync::Arc};

impl<K> Writer<K>
where
    K: Lookup + Clone + Send + Sync + 'static,
    K::DynamicType: Eq + Hash + Clone + Send + Sync,
{
    /// The visible objects of the store, for the watch that fills it.
    pub(crate) fn known_objects(&self) -> KnownObjects<Arc<K>> {
        KnownObjects::new(self.find_known())
    }

    /// Finds a visible object in a version.
    pub(crate) fn find_known(&self) -> impl Fn(&ObjectVersion<'_>) -> Option<Arc<K>> + Send + Sync + use<K> {
        let shared = Arc::clone(self.shared());
        move |version| shared.in_version(version)
    }
}

impl<K: 'static + Lookup + Clone> Writer<K>
where
    K::DynamicType: Eq + Hash + Clone,
{
    /// Applies an event of a stream whose errors [`apply_error`](Self::apply_error) gets, and returns it. An object that a list repeats in
    /// the visible version, with the same metadata, is not stored once more. After the first one with other metadata all of this list are.
    ///
    /// The cache keeps the received object and the caller gets the clone. The clone is dropped soon, so the allocator can reuse its
    /// memory for the next one, whereas another thread may have allocated the received object.
    pub(crate) fn pass_through(&mut self, event: Event<K>) -> Event<K> {
        if let Event::InitApply(object) = &event
            && !self.history_lost
            && let Some(visible) = self.shared.same_version(object)
        {
            if is_same_write(&*visible, object) {
                self.list(visible);
                drop(self.indexes.take_panics()); // they were logged
                return event;
            }
            self.history_lost = true;
        }
        let object = match &event {
            Event::InitApply(object) | Event::Apply(object) | Event::Delete(object) => Some(object),
            Event::Init | Event::InitDone => None,
        };
        let Some(clone) = object.cloned() else {
            self.apply_watcher_event(&event);
            return event;
        };
        let event = self.apply_event(event).map(|_stored| clone);
        drop(self.indexes.take_panics()); // they were logged
        event
    }

    /// Applies an error of a stream of events. Returns the last readable states of the objects whose deletion it proves.
    pub(crate) fn apply_error(&mut self, error: &watcher::Error) -> Vec<Arc<K>> {
        self.history_lost |= error.is_storage_went_back();
        error.undecodable().filter_map(|object| self.undecodable(object)).collect()
    }
}

/// Whether two states of an object that have the same version come from one write, as far as their metadata tell.
pub(in crate::reflector) fn is_same_write<K: Lookup>(one: &K, other: &K) -> bool {
    one.noted_metadata() == other.noted_metadata()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        reflector::{ObjectRef, store::store},
        watcher::{Event, UndecodableObject},
    };
    use k8s_openapi::api::core::v1::ConfigMap;
    use serde_json::json;

    #[test]
    fn the_visible_object_is_known_in_its_state_unless_a_later_one_exists() {
        let object = |version: &str| -> ConfigMap {
            let metadata = json!({ "name": "a", "namespace": "ns", "uid": "u", "resourceVersion": version });
            serde_json::from_value(json!({ "metadata": metadata })).unwrap()
        };
        let (store, mut writer) = store();
        let known = writer.find_known();
        let version = |resource_version| ObjectVersion {
            namespace: Some("ns"),
            name: "a",
            uid: Some("u"),
            resource_version,
        };
        let find = |resource_version| known(&version(resource_version));
        assert!(find("1").is_none(), "the store is empty");
        writer.apply_watcher_event(&Event::Apply(object("1")));
        assert!(find("2").is_none());
        let stored = store.get(&ObjectRef::new("a").within("ns")).unwrap();
        assert!(find("1").is_some_and(|found| Arc::ptr_eq(&found, &stored)));
        assert!(known(&ObjectVersion { uid: Some("other"), ..version("1") }).is_none());
        assert!(known(&ObjectVersion { uid: None, ..version("1") }).is_none());
        assert!(known(&ObjectVersion { namespace: Some("else"), ..version("1") }).is_none());
        writer.apply_watcher_event(&Event::Apply(object("")));
        assert!(find("").is_none(), "an empty version identifies no state");
        writer.apply_watcher_event(&Event::Apply(object("1")));
        let later = UndecodableObject {
            namespace: Some("ns".into()),
            name: "a".into(),
            uid: Some("u".into()),
            resource_version: Some("2".into()),
            deleted: false,
            error: "odd".into(),
        };
        writer.undecodable(&later);
        assert!(find("1").is_none(), "a restored storage may have another state with this version");
        writer.apply_watcher_event(&Event::Apply(object("1")));
        assert!(find("1").is_some());
    }

    #[test]
    fn what_a_list_shows_in_a_known_version_with_other_metadata_is_of_another_history() {
        let object = |name: &str, writer: &str, data: &str| -> ConfigMap {
            let field = json!({ "manager": writer, "operation": "Update", "time": "2026-11-28T10:00:00Z" });
            let metadata =
                json!({ "name": name, "uid": name, "resourceVersion": "1", "managedFields": [field] });
            serde_json::from_value(json!({ "metadata": metadata, "data": { "a": data } })).unwrap()
        };
        let list = |writer: &mut Writer<ConfigMap>, objects: [ConfigMap; 3]| {
            writer.pass_through(Event::Init);
            objects.into_iter().for_each(|object| drop(writer.pass_through(Event::InitApply(object))));
            writer.pass_through(Event::InitDone);
        };
        let (store, mut writer) = store();
        list(&mut writer, ["a", "b", "c"].map(|name| object(name, "one", "old")));
        let before = store.get(&ObjectRef::new("a")).unwrap();
        // Nothing in the metadata of `c` tells, but `b` has told already.
        list(&mut writer, [object("a", "one", "old"), object("b", "two", "new"), object("c", "one", "new")]);
        assert!(Arc::ptr_eq(&before, &store.get(&ObjectRef::new("a")).unwrap()), "unchanged");
        for name in ["b", "c"] {
            let stored = store.get(&ObjectRef::new(name)).unwrap();
            assert_eq!(stored.data.as_ref().unwrap()["a"], "new", "{name}");
        }
        let shown = store.get(&ObjectRef::new("c")).unwrap();
        list(&mut writer, [object("a", "one", "old"), object("b", "two", "new"), object("c", "one", "new")]);
        assert!(
            Arc::ptr_eq(&shown, &store.get(&ObjectRef::new("c")).unwrap()),
            "the next list is of one history"
        );
    }
}
