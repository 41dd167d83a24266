//! Telling several consumers about one cache, each at its own speed.

use super::{Lookup, ObjectKey, inbox::Inbox, store::Store};
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
/// A clone is a subscriber of its own, which starts with what waits for the one it was made of: whatever is published after that
/// reaches both.
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
    pub(super) fn new(reader: Store<K>, inbox: Arc<Inbox<ObjectKey, Arc<K>>>) -> Self {
        Self { reader, inbox }
    }

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
        self.reader.fork(&self.inbox).expect("invariant: a handle exists only for a shared cache")
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
