//! Where triggers come from, and how each source is kept from being asked too often.

use super::request::Asked;
use crate::{
    backoff::{Backoff, DefaultBackoff},
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
    Shared(Arc<Mutex<Box<dyn Backoff>>>),
}

impl Pacing {
    /// For one watch of the controller's own, which paces itself.
    pub(super) fn retry(&self) -> RetryBackoff {
        match self {
            Self::Own => RetryBackoff::at_least(DefaultBackoff::default()),
            Self::Shared(backoff) => RetryBackoff::at_least(SharedBackoff(Arc::clone(backoff))),
        }
    }

    /// A stream that the user has made, with a pause after each error that is not about single objects.
    fn pace<T: 'static>(
        &self,
        stream: impl Stream<Item = watcher::Result<T>> + Send + 'static,
    ) -> BoxStream<'static, watcher::Result<T>> {
        let stream = stream.map(|item| match item {
            Err(error) if error.undecodable().next().is_some() => Ok(Err(error)),
            item => item.map(Ok),
        });
        match self {
            Self::Own => StreamBackoff::new(stream, DefaultBackoff::default()).map(Result::flatten).boxed(),
            Self::Shared(backoff) => {
                StreamBackoff::new(stream, SharedBackoff(Arc::clone(backoff))).map(Result::flatten).boxed()
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
        self.pacing = Pacing::Shared(Arc::new(Mutex::new(Box::new(backoff))));
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

struct SharedBackoff(Arc<Mutex<Box<dyn Backoff>>>);

impl Iterator for SharedBackoff {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        self.0.lock().next()
    }
}

impl Backoff for SharedBackoff {
    fn reset(&mut self) {
        self.0.lock().reset();
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
