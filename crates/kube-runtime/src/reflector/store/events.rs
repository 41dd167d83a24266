//! Streams of the changes of a shared store that tell deletions from changes.

use super::{
    reader::{Cache, Store},
    subscription::{Pending, ReflectHandle},
    writer::Writer,
};
use crate::{
    capacity::release,
    reflector::{Lookup, ObjectKey, compact::CompactObject},
};
use futures::Stream;
use hashbrown::HashMap;
use std::{
    collections::VecDeque,
    fmt,
    hash::Hash,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

/// A change of a shared store.
#[derive(Debug)]
pub enum StoreEvent<K> {
    /// The object is in the store, in this state.
    Applied(Arc<K>),
    /// The object has left the store; this is its last state.
    Deleted(Arc<K>),
}

/// A stream of the changes of a shared store: see [`Store::subscribe_events`].
pub struct StoreEvents<K>
where
    K: Lookup + Clone + 'static,
    K::DynamicType: Eq + Hash + Clone,
{
    handle: ReflectHandle<K>,
    delivered: Delivered<K>,
    next: VecDeque<StoreEvent<K>>,
}

/// What was delivered, as the cache keeps it.
enum Delivered<K> {
    Decoded(Changes<K>),
    Compact(Changes<CompactObject>),
}

/// Makes events of the newest states of objects. Pure.
struct Changes<V> {
    /// The objects that the subscriber knows, in the states that were delivered.
    known: HashMap<ObjectKey, Arc<V>>,
}

impl<K> Clone for StoreEvent<K> {
    fn clone(&self) -> Self {
        match self {
            Self::Applied(object) => Self::Applied(Arc::clone(object)),
            Self::Deleted(object) => Self::Deleted(Arc::clone(object)),
        }
    }
}

impl<K> StoreEvent<K> {
    /// The object.
    pub fn object(&self) -> &Arc<K> {
        match self {
            Self::Applied(object) | Self::Deleted(object) => object,
        }
    }
}

impl<V: Lookup> Changes<V> {
    fn new() -> Self {
        Self { known: HashMap::new() }
    }

    /// The events of an object that has changed. `is_present` is whether the store has it now. A state that cannot be decoded is not
    /// delivered; if it is the last, the one that was delivered before takes its place, so that the subscriber forgets the object.
    fn events<T>(
        &mut self,
        object: Arc<V>,
        is_present: bool,
        decode: impl Fn(&Arc<V>) -> Option<Arc<T>>,
    ) -> impl Iterator<Item = StoreEvent<T>> {
        let key = ObjectKey::of(&*object);
        let is_other = |before: &Arc<V>| before.uid() != object.uid();
        let decoded = decode(&object);
        let deleted = match self.known.get(&key) {
            // Another object has taken its name.
            Some(before) if is_other(before) => decode(before),
            Some(before) if !is_present => decoded.clone().or_else(|| decode(before)),
            _ => None,
        };
        if deleted.is_some() {
            self.known.remove(&key);
            release(&mut self.known);
        }
        let applied = decoded.filter(|_| is_present);
        if applied.is_some() {
            self.known.insert(key, object);
        }
        deleted.map(StoreEvent::Deleted).into_iter().chain(applied.map(StoreEvent::Applied))
    }
}

impl<K> StoreEvents<K>
where
    K: Lookup + Clone,
    K::DynamicType: Eq + Hash + Clone,
{
    /// The store that this is a stream of.
    #[must_use]
    pub fn reader(&self) -> Store<K> {
        self.handle.reader()
    }
}

impl<K> Stream for StoreEvents<K>
where
    K: Lookup + Clone,
    K::DynamicType: Eq + Hash + Clone,
{
    type Item = StoreEvent<K>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<StoreEvent<K>>> {
        let this = self.get_mut();
        loop {
            if let Some(event) = this.next.pop_front() {
                return Poll::Ready(Some(event));
            }
            match (&this.handle.inbox, &this.handle.reader.cache, &mut this.delivered) {
                (Pending::Decoded(inbox), Cache::Decoded(shared), Delivered::Decoded(changes)) => {
                    let Some(object) = ready!(inbox.poll_take(cx)) else { return Poll::Ready(None) };
                    let is_present = shared.has_visible(&*object);
                    this.next.extend(changes.events(object, is_present, |it| Some(Arc::clone(it))));
                }
                (Pending::Compact(inbox), Cache::Compact(cache), Delivered::Compact(changes)) => {
                    let Some(object) = ready!(inbox.poll_take(cx)) else { return Poll::Ready(None) };
                    let is_present = cache.shared.has_visible(&*object);
                    // What cannot be decoded was logged.
                    this.next.extend(changes.events(object, is_present, |it| cache.decode(it).ok()));
                }
                _ => unreachable!("invariant: all are of one store"),
            }
        }
    }
}

impl<K> fmt::Debug for StoreEvents<K>
where
    K: Lookup + Clone + 'static,
    K::DynamicType: Eq + Hash + Clone,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("StoreEvents").field(&self.handle).finish()
    }
}

impl<K: 'static + Clone + Lookup> Store<K>
where
    K::DynamicType: Eq + Hash + Clone,
{
    /// Like [`subscribe`](Self::subscribe), with deletions told from changes: first all visible objects, then each one that changes, and
    /// the last state of each one that leaves the store, also if a list no longer has it.
    ///
    /// Of an object that changes several times before the stream is polled, only the newest state is delivered; one that comes and goes in
    /// between is not delivered at all. If another object has taken the name of one, that one is delivered as deleted before. So whoever
    /// applies the events has the objects of the store, by name and by uid.
    ///
    /// It costs one entry of a map for each object, which shares the object with the store. In a compact cache, deleted objects are decoded
    /// too.
    ///
    /// ```
    /// use futures::{StreamExt, executor::block_on};
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_runtime::{reflector::{self, StoreEvent}, watcher::Event};
    ///
    /// let (store, mut writer) = reflector::store_shared::<ConfigMap>(16);
    /// let mut events = store.subscribe_events().expect("the store is shared");
    /// writer.apply_watcher_event(&Event::Apply(ConfigMap::default()));
    /// assert!(matches!(block_on(events.next()), Some(StoreEvent::Applied(_))));
    /// writer.apply_watcher_event(&Event::Delete(ConfigMap::default()));
    /// assert!(matches!(block_on(events.next()), Some(StoreEvent::Deleted(_))));
    /// ```
    #[must_use]
    pub fn subscribe_events(&self) -> Option<StoreEvents<K>> {
        let handle = self.subscribe()?;
        let delivered = match &handle.inbox {
            Pending::Decoded(_) => Delivered::Decoded(Changes::new()),
            Pending::Compact(_) => Delivered::Compact(Changes::new()),
        };
        Some(StoreEvents { handle, delivered, next: VecDeque::new() })
    }
}

impl<K: 'static + Clone + Lookup> Writer<K>
where
    K::DynamicType: Eq + Hash + Clone,
{
    /// A stream of changes and deletions; `None` if the cache is not shared. See [`Store::subscribe_events`].
    #[must_use]
    pub fn subscribe_events(&self) -> Option<StoreEvents<K>> {
        self.as_reader().subscribe_events()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{reflector::store_shared, watcher::Event};
    use futures::{FutureExt, StreamExt};
    use k8s_openapi::api::core::v1::ConfigMap;

    fn map(name: &str, uid: &str) -> ConfigMap {
        let mut map = ConfigMap::default();
        map.metadata.name = Some(name.into());
        map.metadata.uid = Some(uid.into());
        map
    }

    /// The events that are ready, as text.
    fn ready(events: &mut StoreEvents<ConfigMap>) -> Vec<String> {
        let text = |event: StoreEvent<ConfigMap>| {
            let sign = if matches!(event, StoreEvent::Applied(_)) { '+' } else { '-' };
            let meta = event.object().metadata.clone();
            format!("{sign}{}{}", meta.name.unwrap(), meta.uid.unwrap())
        };
        std::iter::from_fn(|| events.next().now_or_never().flatten()).map(text).collect()
    }

    fn apply(writer: &mut Writer<ConfigMap>, events: &[Event<ConfigMap>]) {
        events.iter().for_each(|event| writer.apply_watcher_event(event));
    }

    #[test]
    fn deletions_are_told_from_changes() {
        let (store, mut writer) = store_shared::<ConfigMap>(4);
        apply(
            &mut writer,
            &[Event::Init, Event::InitApply(map("a", "1")), Event::InitApply(map("b", "2")), Event::InitDone],
        );
        let mut events = store.subscribe_events().unwrap();
        assert_eq!(ready(&mut events), ["+a1", "+b2"]);
        apply(&mut writer, &[Event::Delete(map("a", "1")), Event::Apply(map("c", "3"))]);
        assert_eq!(ready(&mut events), ["-a1", "+c3"]);
        // A list without one.
        apply(&mut writer, &[Event::Init, Event::InitApply(map("c", "3"))]);
        assert!(ready(&mut events).is_empty(), "the list is not complete");
        apply(&mut writer, &[Event::InitDone]);
        assert_eq!(ready(&mut events), ["-b2", "+c3"]);
        drop(writer);
        assert!(events.next().now_or_never().unwrap().is_none(), "it ends with the writer");
    }

    #[test]
    fn an_object_that_takes_the_name_of_another_is_two_events() {
        let (store, mut writer) = store_shared::<ConfigMap>(4);
        let mut events = store.subscribe_events().unwrap();
        apply(&mut writer, &[Event::Apply(map("a", "1"))]);
        assert_eq!(ready(&mut events), ["+a1"]);
        apply(&mut writer, &[Event::Delete(map("a", "1")), Event::Apply(map("a", "2"))]);
        assert_eq!(ready(&mut events), ["-a1", "+a2"]);
        // In a list, and deleted at once.
        apply(&mut writer, &[Event::Init, Event::InitApply(map("a", "3")), Event::InitDone]);
        assert_eq!(ready(&mut events), ["-a2", "+a3"]);
        apply(&mut writer, &[Event::Apply(map("a", "4")), Event::Delete(map("a", "4"))]);
        assert_eq!(ready(&mut events), ["-a3"]);
        apply(&mut writer, &[Event::Apply(map("x", "5")), Event::Delete(map("x", "5"))]);
        assert!(ready(&mut events).is_empty(), "it came and went in between");
    }

    #[test]
    fn an_object_whose_last_state_cannot_be_decoded_is_deleted_all_the_same() {
        let mut changes = Changes::new();
        let unreadable = |name: &str, uid: &str| ConfigMap { immutable: Some(true), ..map(name, uid) };
        let mut events = |object: ConfigMap, is_present: bool| -> Vec<String> {
            let decode = |it: &Arc<ConfigMap>| it.immutable.is_none().then(|| Arc::clone(it));
            let events = changes.events(Arc::new(object), is_present, decode);
            let text = |event: StoreEvent<ConfigMap>| {
                let sign = if matches!(event, StoreEvent::Applied(_)) { '+' } else { '-' };
                format!("{sign}{}", event.object().metadata.uid.clone().unwrap())
            };
            events.map(text).collect()
        };
        assert_eq!(events(map("a", "1"), true), ["+1"]);
        assert_eq!(events(unreadable("a", "1"), true), [""; 0], "the subscriber keeps the state that it has");
        assert_eq!(events(unreadable("a", "1"), false), ["-1"]);
        assert_eq!(events(map("a", "2"), true), ["+2"]);
        assert_eq!(events(unreadable("a", "3"), true), ["-2"], "another object");
        assert_eq!(events(unreadable("a", "3"), false), [""; 0], "it was never delivered");
    }

    #[test]
    fn a_store_without_subscribers_has_no_events() {
        let (store, writer) = super::super::store::<ConfigMap>();
        assert!(store.subscribe_events().is_none() && writer.subscribe_events().is_none());
    }
}
