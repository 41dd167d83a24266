//! Deleted objects that a store keeps for a while.

use super::{
    reader::{Cache, Store},
    writer::Writer,
};
use crate::{
    capacity::release,
    reflector::{Lookup, ObjectKey, ObjectRef},
};
use hashbrown::HashMap;
use parking_lot::Mutex;
use std::{
    collections::VecDeque,
    hash::Hash,
    sync::{Arc, OnceLock},
    time::Duration,
};
use tokio::time::Instant;

/// The deleted objects of a store, if it keeps any.
pub(super) struct DeletedObjects<K>(OnceLock<Mutex<Graveyard<K>>>);

/// Keeps deleted objects for a time. Pure.
struct Graveyard<K> {
    grace: Duration,
    objects: HashMap<ObjectKey, (Instant, Arc<K>)>,
    /// When each was deleted, the oldest first.
    order: VecDeque<(Instant, ObjectKey)>,
}

impl<K> Default for DeletedObjects<K> {
    fn default() -> Self {
        Self(OnceLock::new())
    }
}

impl<K: Lookup> DeletedObjects<K> {
    /// Whether deleted objects are kept.
    pub(super) fn are_kept(&self) -> bool {
        self.0.get().is_some()
    }

    /// Keeps the last state of a deleted object.
    pub(super) fn add(&self, last: &Arc<K>) {
        let Some(kept) = self.0.get() else { return };
        let replaced = kept.lock().add(ObjectKey::of(&**last), Arc::clone(last), Instant::now());
        drop(replaced); // without the lock: `K::drop` is user code
        self.forget_old();
    }

    /// Forgets those whose time is over.
    pub(super) fn forget_old(&self) {
        let Some(kept) = self.0.get() else { return };
        let old = kept.lock().take_old(Instant::now());
        drop(old); // without the lock
    }

    fn get(&self, key: &ObjectKey) -> Option<Arc<K>> {
        self.0.get()?.lock().get(key, Instant::now())
    }
}

impl<K> Graveyard<K> {
    fn add(&mut self, key: ObjectKey, last: Arc<K>, now: Instant) -> Option<(Instant, Arc<K>)> {
        self.order.push_back((now, key.clone()));
        self.objects.insert(key, (now, last))
    }

    fn get(&self, key: &ObjectKey, now: Instant) -> Option<Arc<K>> {
        let (deleted, last) = self.objects.get(key)?;
        (!self.is_old(*deleted, now)).then(|| Arc::clone(last))
    }

    fn take_old(&mut self, now: Instant) -> Vec<Arc<K>> {
        let mut old = Vec::new();
        while self.order.front().is_some_and(|(deleted, _)| is_over(*deleted, self.grace, now)) {
            let Some((deleted, key)) = self.order.pop_front() else { break };
            // Another object with this name was deleted later.
            if self.objects.get(&key).is_some_and(|(latest, _)| *latest == deleted) {
                old.extend(self.objects.remove(&key).map(|(_, last)| last));
            }
        }
        release(&mut self.order);
        release(&mut self.objects);
        old
    }

    fn is_old(&self, deleted: Instant, now: Instant) -> bool {
        is_over(deleted, self.grace, now)
    }
}

fn is_over(deleted: Instant, grace: Duration, now: Instant) -> bool {
    now.saturating_duration_since(deleted) >= grace
}

impl<K: 'static + Lookup + Clone> Writer<K>
where
    K::DynamicType: Eq + Hash + Clone,
{
    /// Keeps the last state of each deleted object for this time, for [`Store::deleted`]. By default none is kept.
    ///
    /// Their memory is freed with the first event, also one that only tells progress, after that time. A second call has no effect.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_runtime::{reflector::{self, ObjectRef}, watcher::Event};
    /// use std::time::Duration;
    ///
    /// let (store, writer) = reflector::store::<ConfigMap>();
    /// let mut writer = writer.keep_deleted(Duration::from_secs(60));
    /// let map: ConfigMap = serde_json::from_str(r#"{"metadata":{"name":"a"}}"#)?;
    /// writer.apply_watcher_event(&Event::Apply(map.clone()));
    /// writer.apply_watcher_event(&Event::Delete(map.clone()));
    /// let key = ObjectRef::from_obj(&map);
    /// assert!(store.get(&key).is_none() && store.deleted(&key).is_some());
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    #[must_use]
    pub fn keep_deleted(self, grace: Duration) -> Self {
        let empty = Graveyard { grace, objects: HashMap::new(), order: VecDeque::new() };
        drop(self.shared.deleted.0.set(Mutex::new(empty)));
        self
    }
}

impl<K: 'static + Clone + Lookup> Store<K>
where
    K::DynamicType: Eq + Hash + Clone,
{
    /// The last state of an object that was deleted a short time ago, if the writer [keeps](Writer::keep_deleted) it: for what has to be
    /// done or said after the deletion. O(1).
    ///
    /// An object of the same name that exists again does not matter: compare the uid. A compact cache keeps none.
    #[must_use]
    pub fn deleted(&self, key: &ObjectRef<K>) -> Option<Arc<K>> {
        if key.dyntype != *self.dyntype() {
            return None;
        }
        match &self.cache {
            Cache::Decoded(shared) => {
                let (namespace, name) = (key.namespace.as_deref().map(Into::into), key.name.as_str().into());
                shared.deleted.get(&ObjectKey { namespace, name })
            }
            Cache::Compact(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{reflector::store, watcher::Event};
    use k8s_openapi::api::core::v1::ConfigMap;

    fn map(name: &str, uid: &str) -> ConfigMap {
        let mut map = ConfigMap::default();
        map.metadata.name = Some(name.into());
        map.metadata.uid = Some(uid.into());
        map
    }

    fn uid(store: &Store<ConfigMap>, name: &str) -> Option<String> {
        store.deleted(&ObjectRef::new(name)).and_then(|it| it.metadata.uid.clone())
    }

    #[tokio::test(start_paused = true)]
    async fn deleted_objects_are_kept_for_the_grace_time() {
        let (store, writer) = store::<ConfigMap>();
        let mut writer = writer.keep_deleted(Duration::from_secs(60));
        let graves = |writer: &Writer<ConfigMap>| writer.shared.deleted.0.get().unwrap().lock().objects.len();
        for event in
            [Event::Init, Event::InitApply(map("a", "1")), Event::InitApply(map("b", "2")), Event::InitDone]
        {
            writer.apply_watcher_event(&event);
        }
        writer.apply_watcher_event(&Event::Delete(map("a", "1")));
        assert_eq!((uid(&store, "a").as_deref(), uid(&store, "b")), (Some("1"), None));
        tokio::time::advance(Duration::from_secs(30)).await;
        // One of its name is made and deleted again; the other is missing in a list.
        writer.apply_watcher_event(&Event::Apply(map("a", "3")));
        assert_eq!(uid(&store, "a").as_deref(), Some("1"));
        writer.apply_watcher_event(&Event::Delete(map("a", "3")));
        for event in [Event::Init, Event::InitDone] {
            writer.apply_watcher_event(&event);
        }
        assert_eq!((uid(&store, "a").as_deref(), uid(&store, "b").as_deref()), (Some("3"), Some("2")));
        tokio::time::advance(Duration::from_secs(59)).await;
        assert_eq!((uid(&store, "a").as_deref(), graves(&writer)), (Some("3"), 2));
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!((uid(&store, "a"), uid(&store, "b")), (None, None));
        writer.apply_watcher_event(&Event::Apply(map("c", "4")));
        assert_eq!(graves(&writer), 0, "their memory is free");
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_was_replaced_in_a_list_is_kept_and_none_by_default() {
        for keeps in [true, false] {
            let (store, writer) = store::<ConfigMap>();
            let mut writer = if keeps { writer.keep_deleted(Duration::MAX) } else { writer };
            for uid in ["1", "2"] {
                for event in [Event::Init, Event::InitApply(map("a", uid)), Event::InitDone] {
                    writer.apply_watcher_event(&event);
                }
            }
            assert_eq!(uid(&store, "a").as_deref(), keeps.then_some("1"));
        }
    }
}
