//! Where triggers come from, and how each source is kept from being asked too often.

use super::request::Asked;
use crate::{
    backoff::{Backoff, DefaultBackoff, Endless},
    reflector::{Lookup, ObjectRef, store::Store},
    stream_ext::StreamBackoff,
    watcher::{self, RetryBackoff},
};
use futures::{
    Stream, StreamExt,
    stream::{self, BoxStream, SelectAll},
};
use kube_core::Resource;
use parking_lot::Mutex;
use std::{hash::Hash, sync::Arc, time::Duration};

/// Requests from one source.
pub(super) type Trigger<K> = BoxStream<'static, watcher::Result<Asked<K>>>;

/// All sources of a controller.
pub(super) struct Sources<K: Resource> {
    triggers: Vec<TriggerFactory<K>>,
    /// How many of them report their first list by [`Asked::Reviewed`].
    lists: usize,
    pacing: Pacing,
}

/// A source before it is known how to pace it.
pub(super) type TriggerFactory<K> = Box<dyn FnOnce(&Pacing) -> Trigger<K> + Send>;

/// How long a source that fails is left alone.
#[derive(Clone)]
pub(super) enum Pacing {
    /// Each source by a [`DefaultBackoff`] of its own.
    Own,
    /// All sources by the one backoff of the user; still only the source that fails waits.
    Shared(SharedSequence),
}

/// One sequence of waits for all sources. What it remembers after its end is theirs together, too.
type SharedSequence = Arc<Mutex<Endless<Box<dyn Backoff>>>>;

impl Pacing {
    /// For one watch of the controller's own, which paces itself.
    pub(super) fn retry(&self) -> RetryBackoff {
        match self {
            Self::Own => RetryBackoff::at_least(DefaultBackoff::default()),
            Self::Shared(backoff) => RetryBackoff::at_least(SharedBackoff::new(backoff)),
        }
    }

    /// A stream that the user has made, with a pause after each error that is not about single objects.
    fn pace<T: 'static>(
        &self,
        stream: impl Stream<Item = watcher::Result<T>> + Send + 'static,
    ) -> BoxStream<'static, watcher::Result<T>> {
        let stream = stream.map(|item| match item {
            Err(error) if error.is_about_objects() => Ok(Err(error)),
            item => item.map(Ok),
        });
        match self {
            Self::Own => StreamBackoff::new(stream, DefaultBackoff::default()).map(Result::flatten).boxed(),
            Self::Shared(backoff) => {
                StreamBackoff::new(stream, SharedBackoff::new(backoff)).map(Result::flatten).boxed()
            }
        }
    }
}

impl<K: Resource + 'static> Sources<K> {
    pub(super) fn new(main: TriggerFactory<K>) -> Self {
        Self { triggers: vec![main], lists: 0, pacing: Pacing::Own }
    }

    /// A source that the user has made.
    pub(super) fn add(&mut self, trigger: impl Stream<Item = watcher::Result<Asked<K>>> + Send + 'static) {
        self.triggers.push(paced(trigger));
    }

    /// A source that paces itself and reports its first list.
    pub(super) fn add_watches(&mut self, trigger: TriggerFactory<K>) {
        self.lists += 1;
        self.triggers.push(trigger);
    }

    pub(super) fn lists(&self) -> usize {
        self.lists
    }

    pub(super) fn pace(&mut self, backoff: impl Backoff + 'static) {
        self.pacing = Pacing::Shared(Arc::new(Mutex::new(Endless::new(Box::new(backoff)))));
    }

    /// All of them as one. A source that fails does not hold up the others.
    pub(super) fn merge(self) -> SelectAll<Trigger<K>> {
        let Self { triggers, pacing, .. } = self;
        stream::select_all(triggers.into_iter().map(|trigger| trigger(&pacing)))
    }
}

/// A source that the user has made: it fails as a whole.
pub(super) fn paced<K: Resource + 'static>(
    trigger: impl Stream<Item = watcher::Result<Asked<K>>> + Send + 'static,
) -> TriggerFactory<K> {
    Box::new(|pacing| pacing.pace(trigger))
}

/// The shared waits as one source sees them.
struct SharedBackoff {
    sequence: SharedSequence,
    /// Whether this source has failed since it last worked: only then is it for it to start the waits over.
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

/// The objects of a shared stream that are (still) there.
pub(super) fn present<K>(
    objects: impl Stream<Item = Arc<K>> + Send + 'static,
    store: Store<K>,
    dyntype: K::DynamicType,
) -> impl Stream<Item = Arc<K>> + Send + 'static
where
    K: Lookup + Clone + Send + Sync + 'static,
    K::DynamicType: Eq + Hash + Clone + Send + Sync,
{
    objects.filter(move |object| {
        let gone =
            store.is_ready() && store.get(&ObjectRef::from_obj_with(object, dyntype.clone())).is_none();
        std::future::ready(!gone)
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

    /// Shares a backoff of two waits: 1 s and 2 s.
    fn shared() -> Sources<ConfigMap> {
        let mut sources = Sources::new(Box::new(|_| stream::empty().boxed()));
        let two = unlimited(Duration::from_secs(1), Duration::from_secs(60)).with_max_times(2);
        sources.pace(ExponentialBackoff::from(two));
        sources
    }

    fn down() -> watcher::Result<u32> {
        Err(watcher::Error::NoResourceVersion)
    }

    /// When the items come, in seconds from now.
    async fn times(items: impl Stream<Item = watcher::Result<u32>>) -> Vec<u64> {
        let start = Instant::now();
        items.map(|_| start.elapsed().as_secs()).collect().await
    }

    #[tokio::test(start_paused = true)]
    async fn the_last_wait_of_a_shared_backoff_repeats_for_every_source() {
        let pacing = shared().pacing;
        let failing = || pacing.pace(stream::iter((0..4).map(|_| down())));
        assert_eq!(times(failing()).await, [0, 1, 3, 5]);
        assert_eq!(times(failing()).await, [0, 2, 4, 6], "the other source waits as long");
    }

    #[tokio::test(start_paused = true)]
    async fn a_source_that_works_does_not_start_the_shared_backoff_of_a_failing_one_over() {
        let pacing = shared().pacing;
        let mut working = pacing.pace(stream::repeat_with(|| Ok(1)));
        let mut failing = pacing.pace(stream::iter([down(), down(), down(), Ok(1), down(), down()]));
        let (start, mut seconds) = (Instant::now(), Vec::new());
        while failing.next().await.is_some() {
            seconds.push(start.elapsed().as_secs());
            working.next().await;
        }
        assert_eq!(seconds, [0, 1, 3, 5, 5, 6], "only its own success does");
    }

    #[tokio::test(start_paused = true)]
    async fn errors_about_single_objects_cost_no_wait() {
        let objects = stream::iter((0..100).map(|_| Ok(ConfigMap::default())));
        let panics = |_: &ConfigMap| -> Option<u64> { panic!("cannot read it") };
        let start = Instant::now();
        let items = Pacing::Own.pace(objects.predicate_filter(panics, PredicateConfig::default()));
        assert_eq!((items.count().await, start.elapsed()), (200, Duration::ZERO));
    }
}
