//! Telling several consumers about one cache, each at its own speed.

use super::{Lookup, ObjectKey, inbox::Inbox, registry::Registry, store::Store};
use futures::Stream;
use std::{
    fmt,
    hash::Hash,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

/// A stream of the objects of a shared cache: those it holds first, then each one that changes or goes away.
///
/// Of an object that changes several times before the stream is polled only the newest state comes. An object that
/// was deleted comes in its last state, and the [`reader`](Self::reader) no longer has it. The stream ends when the
/// cache's writer is dropped.
///
/// A clone is a subscriber of its own, which starts with what waits for the one it was made of.
pub struct ReflectHandle<K>
where
    K: Lookup + Clone + 'static,
    K::DynamicType: Eq + Hash + Clone,
{
    reader: Store<K>,
    inbox: Arc<Inbox<ObjectKey, Arc<K>>>,
}

impl<K> ReflectHandle<K>
where
    K: Lookup + Clone,
    K::DynamicType: Eq + Hash + Clone,
{
    /// The cache that this is a stream of.
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
        self.inbox.poll_take(cx)
    }
}

impl<K> Clone for ReflectHandle<K>
where
    K: Lookup + Clone + 'static,
    K::DynamicType: Eq + Hash + Clone,
{
    fn clone(&self) -> Self {
        let waiting = self.inbox.waiting();
        let fresh =
            self.reader.shared_subscribers().map(|subscribers| subscribers.add(self.reader.clone(), waiting));
        fresh.expect("invariant: a handle exists only for a shared cache")
    }
}

impl<K> fmt::Debug for ReflectHandle<K>
where
    K: Lookup + Clone + 'static,
    K::DynamicType: Eq + Hash + Clone,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReflectHandle").field("waiting", &self.inbox.len()).finish_non_exhaustive()
    }
}

/// Everybody who wants to know.
pub(super) struct Subscribers<K>(Registry<ObjectKey, Arc<K>>);

impl<K: Lookup + Clone + 'static> Subscribers<K>
where
    K::DynamicType: Eq + Hash + Clone,
{
    pub(super) fn new(capacity: usize) -> Self {
        Self(Registry::new(capacity))
    }

    pub(super) fn add(&self, reader: Store<K>, present: Vec<Arc<K>>) -> ReflectHandle<K> {
        ReflectHandle { reader, inbox: self.0.add(present.into_iter().map(keyed)) }
    }

    pub(super) fn publish(&self, objects: &[Arc<K>]) {
        self.0.publish(objects.iter().cloned().map(keyed));
    }

    /// Ends the streams of all who subscribe, now or later.
    pub(super) fn close(&self) {
        self.0.close();
    }
}

fn keyed<K: Lookup>(object: Arc<K>) -> (ObjectKey, Arc<K>) {
    (ObjectKey::of(&*object), object)
}
