//! The sources of triggers, and the backoff of each source after failures.

use super::{initial_sync::InitialSync, own_filter::OwnFilter, request::Trigger};
use crate::{
    backoff::{Backoff, DefaultBackoff, RepeatLast},
    reflector::{Lookup, ObjectRef, store::Store},
    stream_ext::StreamBackoff,
    watcher::{self, CollectionEvent, RetryBackoff, WatchRegistry, WatchSettings},
};
use futures::{
    Stream, StreamExt, TryStreamExt,
    stream::{self, BoxStream, SelectAll},
};
use kube_client::Api;
use kube_core::Resource;
use parking_lot::Mutex;
use std::{borrow::Borrow, hash::Hash, sync::Arc, time::Duration};

/// The triggers of one source.
pub(super) type TriggerStream<K> = BoxStream<'static, watcher::ErasedResult<Trigger<K>>>;

/// All sources of a controller.
pub(super) struct Sources<K: Resource> {
    main: MainFactory<K>,
    others: Vec<TriggerFactory<K>>,
    /// The number of sources that emit [`Trigger::RelatedSynced`].
    related_count: usize,
    backoff: SourceBackoff,
    sync: InitialSync,
}

/// Makes the stream of the controller's own objects once settings and filter are known.
pub(super) type MainFactory<K> = Box<dyn FnOnce(&SourceSettings, OwnFilter<K>) -> TriggerStream<K> + Send>;

/// Makes the stream of a source once its settings are known.
pub(super) type TriggerFactory<K> = Box<dyn FnOnce(&SourceSettings) -> TriggerStream<K> + Send>;

/// What all sources of a controller share.
#[derive(Clone)]
pub(super) struct SourceSettings {
    backoff: SourceBackoff,
    /// The first lists of the watches.
    sync: InitialSync,
    /// Where monitors find the watches. `None` if the controller has no monitor.
    watches: Option<Arc<WatchRegistry>>,
}

impl SourceSettings {
    /// The events of a watch of objects of `kind`, made by the controller.
    pub(super) fn watch<A, T, S>(
        &self,
        api: Api<A>,
        kind: &str,
        watch: impl FnOnce(Api<A>, WatchSettings) -> S,
    ) -> BoxStream<'static, watcher::ErasedResult<CollectionEvent<T>>>
    where
        A: Resource,
        T: Send + 'static,
        S: Stream<Item = watcher::ErasedResult<CollectionEvent<T>>> + Send + 'static,
    {
        let path = api.resource_url().to_owned();
        let retry = self.backoff.for_watch();
        let settings = match &self.watches {
            Some(registry) => WatchSettings::registered(retry, Arc::clone(registry), kind.to_owned()),
            None => retry.into(),
        };
        self.sync.track(&path, watch(api, settings))
    }
}

/// The backoff of failing sources.
#[derive(Clone)]
enum SourceBackoff {
    /// A [`DefaultBackoff`] per source.
    PerSource,
    /// One configured backoff for all sources. Only a failing source waits.
    Shared(SharedSequence),
}

/// The delays that all sources share, including the last one, which repeats after the end.
type SharedSequence = Arc<Mutex<RepeatLast<Box<dyn Backoff>>>>;

impl SourceBackoff {
    fn for_watch(&self) -> RetryBackoff {
        match self {
            Self::PerSource => RetryBackoff::at_least(DefaultBackoff::default()),
            Self::Shared(backoff) => RetryBackoff::at_least(SharedBackoff::new(backoff)),
        }
    }

    /// Adds the backoff to a custom stream: a delay after each error that is not about a single object.
    fn apply<T: 'static>(
        &self,
        stream: impl Stream<Item = watcher::ErasedResult<T>> + Send + 'static,
    ) -> BoxStream<'static, watcher::ErasedResult<T>> {
        let stream = stream.map(|item| match item {
            Err(error) if error.get().is_about_objects() => Ok(Err(error)),
            item => item.map(Ok),
        });
        match self {
            Self::PerSource => {
                StreamBackoff::new(stream, DefaultBackoff::default()).map(Result::flatten).boxed()
            }
            Self::Shared(backoff) => {
                StreamBackoff::new(stream, SharedBackoff::new(backoff)).map(Result::flatten).boxed()
            }
        }
    }
}

impl<K: Resource + 'static> Sources<K> {
    pub(super) fn new(main: MainFactory<K>) -> Self {
        let (backoff, sync) = (SourceBackoff::PerSource, InitialSync::default());
        Self { main, others: Vec::new(), related_count: 0, backoff, sync }
    }

    /// The first lists of the watches among the sources.
    pub(super) fn initial_sync(&self) -> InitialSync {
        self.sync.clone()
    }

    /// Adds a custom stream.
    pub(super) fn add(
        &mut self,
        triggers: impl Stream<Item = watcher::ErasedResult<Trigger<K>>> + Send + 'static,
    ) {
        self.others.push(with_backoff(triggers));
    }

    /// Adds watches of related objects, which have their own backoff and emit [`Trigger::RelatedSynced`].
    pub(super) fn add_watches(&mut self, factory: TriggerFactory<K>) {
        self.related_count += 1;
        self.others.push(factory);
    }

    pub(super) fn related_count(&self) -> usize {
        self.related_count
    }

    pub(super) fn share_backoff(&mut self, backoff: impl Backoff + 'static) {
        self.backoff = SourceBackoff::Shared(Arc::new(Mutex::new(RepeatLast::new(Box::new(backoff)))));
    }

    /// Merges all sources. A failing source does not delay the others. Their watches are registered in `watches`.
    pub(super) fn merge(
        self,
        watches: Option<Arc<WatchRegistry>>,
        filter: OwnFilter<K>,
    ) -> SelectAll<TriggerStream<K>> {
        let Self { main, others, backoff, sync, .. } = self;
        let settings = SourceSettings { backoff, sync, watches };
        let main = main(&settings, filter);
        stream::select_all([main].into_iter().chain(others.into_iter().map(|factory| factory(&settings))))
    }
}

/// A custom stream with the backoff of its source.
pub(super) fn with_backoff<K: Resource + 'static>(
    triggers: impl Stream<Item = watcher::ErasedResult<Trigger<K>>> + Send + 'static,
) -> TriggerFactory<K> {
    Box::new(|settings| settings.backoff.apply(triggers))
}

/// A custom stream of the controller's own objects, whose `store` is filled elsewhere, with the backoff of its source.
pub(super) fn custom_main<K, T>(
    objects: impl Stream<Item = watcher::Result<T>> + Send + 'static,
    store: Store<K>,
) -> MainFactory<K>
where
    K: Clone + Resource + Send + Sync + 'static,
    K::DynamicType: Eq + Hash + Clone,
    T: Borrow<K> + Send + 'static,
{
    let objects = objects.map_err(watcher::ErasedError::from);
    Box::new(|settings, filter| settings.backoff.apply(filter.triggers_of_stream(objects, store)))
}

/// The handle of one source to the shared delays.
struct SharedBackoff {
    sequence: SharedSequence,
    /// Whether this source has failed since it last worked. Only then does its success reset the shared delays.
    failed: bool,
}

impl SharedBackoff {
    fn new(sequence: &SharedSequence) -> Self {
        Self { sequence: Arc::clone(sequence), failed: false }
    }
}

impl Iterator for SharedBackoff {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        self.failed = true;
        Some(self.sequence.lock().next())
    }
}

impl Backoff for SharedBackoff {
    fn reset(&mut self) {
        if std::mem::take(&mut self.failed) {
            self.sequence.lock().reset();
        }
    }
}

/// Drops the objects of a shared stream that are no longer in the store.
pub(super) fn still_present<K>(
    objects: impl Stream<Item = Arc<K>> + Send + 'static,
    store: Store<K>,
    dyntype: K::DynamicType,
) -> impl Stream<Item = Arc<K>> + Send + 'static
where
    K: Lookup + Clone + Send + Sync + 'static,
    K::DynamicType: Eq + Hash + Clone + Send + Sync,
{
    objects.filter(move |object| {
        let deleted =
            store.is_ready() && store.get(&ObjectRef::from_obj_with(object, dyntype.clone())).is_none();
        std::future::ready(!deleted)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        PredicateConfig, WatchStreamExt,
        backoff::{ExponentialBackoff, unlimited},
    };
    use k8s_openapi::api::core::v1::ConfigMap;
    use tokio::time::Instant;

    /// Sources that share a backoff of two delays: 1 s and 2 s.
    fn shared() -> Sources<ConfigMap> {
        let mut sources = Sources::new(Box::new(|_, _| stream::empty().boxed()));
        let two = unlimited(Duration::from_secs(1), Duration::from_secs(60)).with_max_times(2);
        sources.share_backoff(ExponentialBackoff::from(two));
        sources
    }

    fn down() -> watcher::ErasedResult<u32> {
        Err(watcher::Error::NoResourceVersion.into())
    }

    /// When the items arrive, in seconds from now.
    async fn times(items: impl Stream<Item = watcher::ErasedResult<u32>>) -> Vec<u64> {
        let start = Instant::now();
        items.map(|_| start.elapsed().as_secs()).collect().await
    }

    #[tokio::test(start_paused = true)]
    async fn the_last_delay_of_a_shared_backoff_repeats_for_every_source() {
        let backoff = shared().backoff;
        let failing = || backoff.apply(stream::iter((0..4).map(|_| down())));
        assert_eq!(times(failing()).await, [0, 1, 3, 5]);
        assert_eq!(times(failing()).await, [0, 2, 4, 6], "the other source waits for the same delay");
    }

    #[tokio::test(start_paused = true)]
    async fn a_working_source_does_not_reset_the_shared_backoff_of_a_failing_one() {
        let backoff = shared().backoff;
        let mut working = backoff.apply(stream::repeat_with(|| Ok(1)));
        let mut failing = backoff.apply(stream::iter([down(), down(), down(), Ok(1), down(), down()]));
        let (start, mut seconds) = (Instant::now(), Vec::new());
        while failing.next().await.is_some() {
            seconds.push(start.elapsed().as_secs());
            working.next().await;
        }
        assert_eq!(seconds, [0, 1, 3, 5, 5, 6], "only its own success resets it");
    }

    #[tokio::test(start_paused = true)]
    async fn errors_about_single_objects_cause_no_delay() {
        let objects = stream::iter((0..100).map(|_| Ok(ConfigMap::default())));
        let panics = |_: &ConfigMap| -> Option<u64> { panic!("cannot read it") };
        let start = Instant::now();
        let objects = objects.predicate_filter(panics, PredicateConfig::default());
        let items = SourceBackoff::PerSource.apply(objects.map_err(watcher::ErasedError::from));
        assert_eq!((items.count().await, start.elapsed()), (200, Duration::ZERO));
    }
}
