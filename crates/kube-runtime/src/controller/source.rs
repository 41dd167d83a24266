//! Where triggers come from, and how each source is kept from being asked too often.

use super::request::Asked;
use crate::{
    backoff::{Backoff, DefaultBackoff},
    reflector::{Lookup, ObjectRef, store::Store},
    stream_ext::StreamBackoff,
    watcher,
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
    triggers: Vec<Unpaced<K>>,
    /// How many of them report their first list by [`Asked::Reviewed`].
    lists: usize,
    pacing: Pacing,
}

/// A source to which nobody has said yet how to pace itself.
pub(super) type Unpaced<K> = Box<dyn FnOnce(&Pacing) -> Trigger<K> + Send>;

/// How long a source that fails is left alone.
#[derive(Clone)]
pub(super) enum Pacing {
    /// Each source by a [`DefaultBackoff`] of its own.
    Own,
    /// All sources by the one backoff of the user; still only the source that fails waits.
    Shared(Arc<Mutex<Box<dyn Backoff>>>),
}

impl Pacing {
    /// The stream with a pause after each error.
    pub(super) fn pace<T: 'static>(
        &self,
        stream: impl Stream<Item = watcher::Result<T>> + Send + 'static,
    ) -> BoxStream<'static, watcher::Result<T>> {
        match self {
            Self::Own => StreamBackoff::new(stream, DefaultBackoff::default()).boxed(),
            Self::Shared(backoff) => StreamBackoff::new(stream, SharedBackoff(Arc::clone(backoff))).boxed(),
        }
    }
}

impl<K: Resource + 'static> Sources<K> {
    pub(super) fn new(main: Unpaced<K>) -> Self {
        Self { triggers: vec![main], lists: 0, pacing: Pacing::Own }
    }

    pub(super) fn add(&mut self, trigger: impl Stream<Item = watcher::Result<Asked<K>>> + Send + 'static) {
        self.triggers.push(unpaced(trigger));
    }

    /// Like [`Sources::add`], for a source that reports its first list.
    pub(super) fn add_listed(
        &mut self,
        trigger: impl Stream<Item = watcher::Result<Asked<K>>> + Send + 'static,
    ) {
        self.lists += 1;
        self.add(trigger);
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

/// A source that fails as a whole.
pub(super) fn unpaced<K: Resource + 'static>(
    trigger: impl Stream<Item = watcher::Result<Asked<K>>> + Send + 'static,
) -> Unpaced<K> {
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
