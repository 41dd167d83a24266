//! Streams of the changes of a shared store, one for each subscriber.

use super::reader::{Cache, Store};
use crate::reflector::{Lookup, ObjectKey, compact::CompactObject, inbox::Inbox};
use futures::Stream;
use std::{
    fmt,
    hash::Hash,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

/// A stream of the objects of a shared store: first all current objects, then each one that changes or is deleted.
///
/// If an object changes several times before the stream is polled, only the newest state is returned. A deleted object is
/// returned in its last state; the [`reader`](Self::reader) no longer contains it. The stream ends when the store's writer is
/// dropped.
///
/// A clone is a subscriber of its own. It starts with the objects that are pending in the original; later changes reach both.
pub struct ReflectHandle<K>
where
    K: Lookup + Clone + 'static,
    K::DynamicType: Eq + Hash + Clone,
{
    pub(super) reader: Store<K>,
    pub(super) inbox: Pending<K>,
}

/// The pending objects, as the cache keeps them.
pub(super) enum Pending<K: Lookup> {
    Decoded(Arc<Inbox<ObjectKey, Arc<K>>>),
    Compact(Arc<Inbox<ObjectKey, Arc<CompactObject>>>),
}

impl<K> ReflectHandle<K>
where
    K: Lookup + Clone,
    K::DynamicType: Eq + Hash + Clone,
{
    /// The store that this is a stream of.
    #[must_use]
    pub fn reader(&self) -> Store<K> {
        self.reader.clone()
    }
}

impl<K> Stream for ReflectHandle<K>
where
    K: Lookup + Clone,
    K::DynamicType: Eq + Hash + Clone,
{
    type Item = Arc<K>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        match (&self.inbox, &self.reader.cache) {
            (Pending::Decoded(inbox), _) => inbox.poll_take(cx),
            (Pending::Compact(inbox), Cache::Compact(cache)) => loop {
                match ready!(inbox.poll_take(cx)).map(|object| cache.decode(&object)) {
                    Some(Ok(object)) => return Poll::Ready(Some(object)),
                    Some(Err(_)) => {} // it was logged
                    None => return Poll::Ready(None),
                }
            },
            (Pending::Compact(_), Cache::Decoded(_)) => unreachable!("invariant: both are of one store"),
        }
    }
}

impl<K> Clone for ReflectHandle<K>
where
    K: Lookup + Clone + 'static,
    K::DynamicType: Eq + Hash + Clone,
{
    fn clone(&self) -> Self {
        let inbox = match (&self.inbox, &self.reader.cache) {
            (Pending::Decoded(inbox), Cache::Decoded(shared)) => {
                shared.objects.fork(inbox).map(Pending::Decoded)
            }
            (Pending::Compact(inbox), Cache::Compact(cache)) => {
                cache.shared.objects.fork(inbox).map(Pending::Compact)
            }
            _ => None,
        };
        Self {
            reader: self.reader.clone(),
            inbox: inbox.expect("invariant: a handle exists only for a shared store"),
        }
    }
}

impl<K> fmt::Debug for ReflectHandle<K>
where
    K: Lookup + Clone + 'static,
    K::DynamicType: Eq + Hash + Clone,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let waiting = match &self.inbox {
            Pending::Decoded(inbox) => inbox.len(),
            Pending::Compact(inbox) => inbox.len(),
        };
        f.debug_struct("ReflectHandle").field("waiting", &waiting).finish_non_exhaustive()
    }
}

impl<K: 'static + Clone + Lookup> Store<K>
where
    K::DynamicType: Eq + Hash + Clone,
{
    /// A stream of the objects as they change, beginning with all that are visible.
    ///
    /// `None` unless the writer of the store can have subscribers: that of [`store_shared`](super::store_shared) and of
    /// [`Writer::new_shared`](super::Writer::new_shared) can, that of [`store`](super::store()) and the one in a `Controller` made with
    /// `Controller::new` cannot. It does not change over the life of a store.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_runtime::{reflector, watcher::Event};
    /// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
    ///
    /// use futures::StreamExt;
    ///
    /// let (store, mut writer) = reflector::store_shared::<ConfigMap>(16);
    /// let subscriber = store.subscribe().expect("the store is shared");
    /// writer.apply_watcher_event(&Event::Apply(ConfigMap::default()));
    /// drop(writer);
    /// assert_eq!(subscriber.count().await, 1);
    /// # Ok::<(), reflector::store::WriterDropped>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn subscribe(&self) -> Option<ReflectHandle<K>> {
        let inbox = match &self.cache {
            Cache::Decoded(shared) => shared.subscribe().map(Pending::Decoded),
            Cache::Compact(cache) => cache.shared.subscribe().map(Pending::Compact),
        };
        inbox.map(|inbox| ReflectHandle { reader: self.clone(), inbox })
    }
}
