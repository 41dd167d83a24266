//! Stores that keep deleted objects for a while.

use super::{
    reader::{Cache, Store},
    writer::Writer,
};
use crate::reflector::{Lookup, ObjectKey, ObjectRef};
use std::{hash::Hash, sync::Arc, time::Duration};

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
        self.shared.deleted.keep(grace);
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
        let graves = |writer: &Writer<ConfigMap>| writer.shared.deleted.len();
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
