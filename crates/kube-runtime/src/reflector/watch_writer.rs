//! [`WatchWriter`]: applies the events of one watch to a store, which it may share with the watches of other namespaces.

use super::{
    namespace_set::NamespaceSet, namespaces::INITIAL_SYNC_TIMEOUT, object_ref::Lookup, store::Writer,
};
use crate::watcher::{CollectionEvent, ErasedResult};
use futures::{
    Stream, StreamExt,
    stream::{self, BoxStream},
};
use parking_lot::Mutex;
use std::{future::ready, hash::Hash, sync::Arc};
use tokio::time::sleep;

/// Applies the events of one watch to a store. Unlike [`follow_namespaces`](super::follow_namespaces), it leaves the events of each
/// watch as they are: a list of one namespace says nothing about another.
pub(crate) enum WatchWriter<K>
where
    K: Lookup + Clone + 'static,
    K::DynamicType: Eq + Hash + Clone,
{
    /// No other watch fills the store.
    Alone(Writer<K>),
    /// The lock is held while one event is applied. The watches of one store are polled by one task, so nobody waits for it.
    Namespace(String, Arc<Mutex<NamespaceSet<K>>>),
}

impl<K> WatchWriter<K>
where
    K: Lookup + Clone + Send + Sync + 'static,
    K::DynamicType: Eq + Hash + Clone + Send + Sync,
{
    /// One for each namespace. Without any, the store is empty and ready.
    pub(crate) fn by_namespace(writer: Writer<K>, namespaces: impl Iterator<Item = String>) -> Vec<Self> {
        let namespaces: Vec<String> = namespaces.collect();
        let mut set = NamespaceSet::new(writer);
        set.set_namespaces(namespaces.clone(), &mut Vec::new());
        let set = Arc::new(Mutex::new(set));
        namespaces.into_iter().map(|namespace| Self::Namespace(namespace, Arc::clone(&set))).collect()
    }

    /// Applies an event, and returns it with the stored `Arc`.
    pub(crate) fn apply(&mut self, event: CollectionEvent<Arc<K>>) -> CollectionEvent<Arc<K>> {
        match self {
            Self::Alone(writer) => {
                let event = writer.apply_collection_event(event);
                drop(writer.take_index_panics()); // they were logged
                event
            }
            Self::Namespace(namespace, set) => {
                let mut set = set.lock();
                set.event(namespace, event.clone().into(), &mut Vec::new());
                drop(set.take_index_panics()); // they were logged
                event
            }
        }
    }

    /// The events of the watch as `apply` returns them, which calls [`Self::apply`].
    pub(crate) fn follow<E: 'static, T: Send + 'static>(
        mut self,
        events: impl Stream<Item = ErasedResult<E>> + Send + 'static,
        mut apply: impl FnMut(&mut Self, E) -> T + Send + 'static,
    ) -> BoxStream<'static, ErasedResult<T>> {
        let give_up = match &self {
            Self::Alone(_) => {
                return events.map(move |item| item.map(|event| apply(&mut self, event))).boxed();
            }
            Self::Namespace(namespace, set) => give_up(namespace.clone(), Arc::clone(set)),
        };
        let events = events.map(move |item| match item {
            Ok(event) => Ok(apply(&mut self, event)),
            Err(error) => {
                if let Self::Namespace(namespace, set) = &self {
                    set.lock().failed(namespace, error.get(), &mut Vec::new());
                }
                Err(error)
            }
        });
        stream::select(events, stream::once(give_up).filter_map(|()| ready(None))).boxed()
    }
}

/// The store becomes ready without the list of this namespace.
async fn give_up<K>(namespace: String, set: Arc<Mutex<NamespaceSet<K>>>)
where
    K: Lookup + Clone,
    K::DynamicType: Eq + Hash + Clone,
{
    sleep(INITIAL_SYNC_TIMEOUT).await;
    set.lock().watch_ended(&namespace, &mut Vec::new());
}
