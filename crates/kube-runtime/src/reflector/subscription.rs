//! Telling several consumers about one cache, each at its own speed.

use super::{Lookup, ObjectKey, store::Store};
use ahash::AHashMap;
use futures::Stream;
use parking_lot::Mutex;
use std::{
    collections::{VecDeque, hash_map::Entry},
    fmt,
    hash::Hash,
    pin::Pin,
    sync::{Arc, Weak},
    task::{Context, Poll, Waker},
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
    inbox: Arc<Inbox<K>>,
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
    K::DynamicType: Eq + Hash + Clone + Default,
{
    type Item = Arc<K>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut inbox = self.inbox.0.lock();
        match inbox.take() {
            Some(object) => Poll::Ready(Some(object)),
            None if inbox.closed => Poll::Ready(None),
            None => {
                inbox.waker = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl<K> Clone for ReflectHandle<K>
where
    K: Lookup + Clone + 'static,
    K::DynamicType: Eq + Hash + Clone,
{
    fn clone(&self) -> Self {
        let waiting = self.inbox.0.lock().in_order();
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
        f.debug_struct("ReflectHandle")
            .field("waiting", &self.inbox.0.lock().order.len())
            .finish_non_exhaustive()
    }
}

/// Everybody who wants to know. A handle that is dropped leaves by itself.
pub(super) struct Subscribers<K> {
    inboxes: Mutex<Vec<Weak<Inbox<K>>>>,
    capacity: usize,
}

struct Inbox<K>(Mutex<Waiting<K>>);

/// What a subscriber has not taken yet: the newest state per object, in the order of first news.
struct Waiting<K> {
    order: VecDeque<ObjectKey>,
    newest: AHashMap<ObjectKey, Arc<K>>,
    waker: Option<Waker>,
    closed: bool,
}

impl<K: Lookup + Clone + 'static> Subscribers<K>
where
    K::DynamicType: Eq + Hash + Clone,
{
    pub(super) fn new(capacity: usize) -> Self {
        Self { inboxes: Mutex::new(Vec::new()), capacity }
    }

    pub(super) fn add(&self, reader: Store<K>, present: Vec<Arc<K>>) -> ReflectHandle<K> {
        let mut waiting = Waiting {
            order: VecDeque::with_capacity(self.capacity),
            newest: AHashMap::with_capacity(self.capacity),
            waker: None,
            closed: reader.is_closed(),
        };
        for object in present {
            waiting.put(object);
        }
        let inbox = Arc::new(Inbox(Mutex::new(waiting)));
        let mut inboxes = self.inboxes.lock();
        inboxes.retain(|inbox| inbox.strong_count() > 0);
        inboxes.push(Arc::downgrade(&inbox));
        ReflectHandle { reader, inbox }
    }

    pub(super) fn publish(&self, objects: &[Arc<K>]) {
        self.for_each(|waiting| objects.iter().for_each(|object| waiting.put(Arc::clone(object))));
    }

    pub(super) fn close(&self) {
        self.for_each(|waiting| waiting.closed = true);
    }

    fn for_each(&self, change: impl Fn(&mut Waiting<K>)) {
        for inbox in self.inboxes.lock().iter().filter_map(Weak::upgrade) {
            let mut waiting = inbox.0.lock();
            change(&mut waiting);
            if let Some(waker) = waiting.waker.take() {
                waker.wake();
            }
        }
    }
}

impl<K: Lookup> Waiting<K> {
    fn put(&mut self, object: Arc<K>) {
        match self.newest.entry(ObjectKey::of(&*object)) {
            Entry::Occupied(mut waiting) => drop(waiting.insert(object)),
            Entry::Vacant(vacant) => {
                self.order.push_back(vacant.key().clone());
                vacant.insert(object);
            }
        }
    }

    fn take(&mut self) -> Option<Arc<K>> {
        let key = self.order.pop_front()?;
        self.newest.remove(&key)
    }

    fn in_order(&self) -> Vec<Arc<K>> {
        self.order.iter().filter_map(|key| self.newest.get(key)).cloned().collect()
    }
}
