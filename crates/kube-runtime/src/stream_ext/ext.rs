//! [`WatchStreamExt`]: the extension trait with all adapters.

use super::{EventDecode, EventModify, Reflect, StreamBackoff};
use crate::{
    backoff::{Backoff, DefaultBackoff},
    predicate::{Predicate, PredicateConfig, PredicateFilter},
    reflector::store::Writer,
    watcher::{self, Error, Event},
};
use futures::{Stream, TryStream};
use kube_core::Resource;
use std::hash::Hash;

/// Adapters for the stream of a [`watcher`](fn@watcher::watcher).
///
/// A watcher returns *events*. [`applied_objects`](Self::applied_objects) and
/// [`touched_objects`](Self::touched_objects) turn them into *objects*. Adapters for events have to come before these.
///
/// ```
/// use futures::{StreamExt, executor::block_on, stream};
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube_core::ResourceExt;
/// use kube_runtime::{PredicateConfig, WatchStreamExt, predicates, reflector, watcher::Event};
///
/// let (store, writer) = reflector::store();
/// let events = [Event::Init, Event::InitApply(ConfigMap::default()), Event::InitDone];
/// let objects = stream::iter(events.map(Ok))
///     .default_backoff()
///     .modify(|object| object.managed_fields_mut().clear())
///     .reflect(writer)
///     .applied_objects()
///     .predicate_filter(predicates::generation, PredicateConfig::default());
/// assert_eq!(block_on(objects.count()), 1);
/// assert_eq!(store.len(), 1);
/// ```
pub trait WatchStreamExt: Stream {
    /// Waits after each error of the stream, by [`DefaultBackoff`].
    fn default_backoff(self) -> StreamBackoff<Self, DefaultBackoff>
    where
        Self: TryStream + Sized,
    {
        self.backoff(DefaultBackoff::default())
    }

    /// Waits after each error of the stream. An item that is not an error resets the waits; behind a watcher, a list that follows a
    /// failure does not: the server may list and refuse every watch.
    ///
    /// The error itself is returned at once. A backoff that ends does not end the stream: its last wait repeats, which is logged
    /// once.
    ///
    /// ```
    /// use futures::{StreamExt, executor::block_on, stream};
    /// use kube_runtime::{WatchStreamExt, watcher::ExponentialBackoff};
    /// use std::time::Duration;
    ///
    /// let twice = backon::ExponentialBuilder::default().with_min_delay(Duration::from_millis(1)).with_max_times(2);
    /// let failing = stream::repeat(Err::<(), _>("down")).take(5).backoff(ExponentialBackoff::from(twice));
    /// # let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    /// # let items =
    /// #     runtime.block_on(failing.count());
    /// assert_eq!(items, 5, "after waits of 1, 2, 2 and 2 ms");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    fn backoff<B>(self, b: B) -> StreamBackoff<Self, B>
    where
        B: Backoff,
        Self: TryStream + Sized,
    {
        StreamBackoff::new(self, b)
    }

    /// Turns events into the listed, created and changed objects.
    ///
    /// ```
    /// use futures::{TryStreamExt, executor::block_on, stream};
    /// use kube_runtime::{WatchStreamExt, watcher::Event};
    ///
    /// let events = [Event::Init, Event::InitApply("a"), Event::InitDone, Event::Apply("b"), Event::Delete("a")];
    /// let objects: Vec<_> = block_on(stream::iter(events.map(Ok)).applied_objects().try_collect())?;
    /// assert_eq!(objects, ["a", "b"]);
    /// # Ok::<(), kube_runtime::watcher::Error>(())
    /// ```
    fn applied_objects<K>(self) -> EventDecode<Self>
    where
        Self: Stream<Item = Result<Event<K>, Error>> + Sized,
    {
        EventDecode::applied(self)
    }

    /// Turns events into the listed, created, changed and deleted objects.
    ///
    /// A deleted object cannot be distinguished from the others. An object that is missing from a later list is not returned.
    ///
    /// ```
    /// use futures::{TryStreamExt, executor::block_on, stream};
    /// use kube_runtime::{WatchStreamExt, watcher::Event};
    ///
    /// let events = [Event::Init, Event::InitApply("a"), Event::InitDone, Event::Apply("b"), Event::Delete("a")];
    /// let objects: Vec<_> = block_on(stream::iter(events.map(Ok)).touched_objects().try_collect())?;
    /// assert_eq!(objects, ["a", "b", "a"]);
    /// # Ok::<(), kube_runtime::watcher::Error>(())
    /// ```
    fn touched_objects<K>(self) -> EventDecode<Self>
    where
        Self: Stream<Item = Result<Event<K>, Error>> + Sized,
    {
        EventDecode::touched(self)
    }

    /// Calls `f` to change each object in place, for instance to drop unused fields.
    ///
    /// Before [`reflect`](Self::reflect) it also changes the objects in the store; after it, only those in the stream.
    ///
    /// ```
    /// use futures::{StreamExt, executor::block_on, stream};
    /// use k8s_openapi::api::core::v1::{Pod, PodStatus};
    /// use kube_runtime::{WatchStreamExt, reflector, watcher::Event};
    ///
    /// let (store, writer) = reflector::store::<Pod>();
    /// let pod = Pod { status: Some(PodStatus::default()), ..Pod::default() };
    /// let lean = stream::iter([Ok(Event::Apply(pod))]).modify(|pod| pod.status = None).reflect(writer);
    /// block_on(lean.for_each(|_| async {}));
    /// assert!(store.state()[0].status.is_none());
    /// ```
    fn modify<F, K>(self, f: F) -> EventModify<Self, F>
    where
        Self: Stream<Item = Result<Event<K>, Error>> + Sized,
        F: FnMut(&mut K),
    {
        EventModify::new(self, f)
    }

    /// Passes an object on only if the property that `predicate` returns has changed since the last time.
    ///
    /// Objects without the property always pass. The last property of each object is stored for the time in `config`.
    ///
    /// ```
    /// use futures::{StreamExt, executor::block_on, stream};
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_runtime::{PredicateConfig, WatchStreamExt, predicates};
    ///
    /// let generation = |generation| {
    ///     let mut object = ConfigMap::default();
    ///     object.metadata.generation = Some(generation);
    ///     Ok(object)
    /// };
    /// let changes = stream::iter([generation(1), generation(1), generation(2)]);
    /// let passing = changes.predicate_filter(predicates::generation, PredicateConfig::default());
    /// assert_eq!(block_on(passing.count()), 2);
    /// ```
    fn predicate_filter<K, P>(self, predicate: P, config: PredicateConfig) -> PredicateFilter<Self, K, P>
    where
        Self: Stream<Item = Result<K, Error>> + Sized,
        K: Resource + 'static,
        P: Predicate<K> + 'static,
    {
        PredicateFilter::new(self, predicate, config)
    }

    /// Writes the objects of the events to the store of `writer`: see [`reflector`](fn@crate::reflector).
    fn reflect<K>(self, writer: Writer<K>) -> Reflect<Self, K>
    where
        Self: Stream<Item = watcher::Result<Event<K>>> + Sized,
        K: Resource + Clone + 'static,
        K::DynamicType: Eq + Hash + Clone,
    {
        Reflect::new(self, writer)
    }

    /// Like [`reflect`](Self::reflect), for the writer of a [shared](crate::reflector::store_shared) store. Its
    /// subscribers receive the objects when this stream is polled.
    ///
    /// ```
    /// use futures::{StreamExt, executor::block_on, stream};
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_runtime::{WatchStreamExt, reflector, watcher::Event};
    ///
    /// let (store, writer) = reflector::store_shared(16);
    /// let subscribers = [store.subscribe(), store.subscribe()];
    /// let events = [Event::Init, Event::InitApply(ConfigMap::default()), Event::InitDone];
    /// block_on(stream::iter(events.map(Ok)).reflect_shared(writer).for_each(|_| async {}));
    /// for subscriber in subscribers.into_iter().flatten() {
    ///     assert_eq!(block_on(subscriber.count()), 1, "the stream ends when the writer is dropped");
    /// }
    /// ```
    fn reflect_shared<K>(self, writer: Writer<K>) -> impl Stream<Item = Self::Item>
    where
        Self: Stream<Item = watcher::Result<Event<K>>> + Sized,
        K: Resource + Clone + 'static,
        K::DynamicType: Eq + Hash + Clone,
    {
        Reflect::new(self, writer)
    }
}

impl<St> WatchStreamExt for St where St: Stream + ?Sized {}
