//! The adapter [`Reflect`](super::WatchStreamExt::reflect), which writes the objects of a stream to a store.

use crate::{
    reflector::{FillStore, store::Writer},
    watcher::{Event, Result},
};
use futures::Stream;
use kube_core::Resource;
use pin_project_lite::pin_project;
use std::{
    hash::Hash,
    pin::Pin,
    task::{Context, Poll},
};

pin_project! {
    /// Events that also fill a store. Returned by [`reflect`](super::WatchStreamExt::reflect).
    #[must_use = "streams do nothing unless polled"]
    pub struct Reflect<St, K>
    where
        K: Resource,
        K: Clone,
        K: 'static,
        K::DynamicType: Eq,
        K::DynamicType: Hash,
        K::DynamicType: Clone,
    {
        #[pin]
        filling: FillStore<St, K>,
    }
}

impl<K, St> Reflect<St, K>
where
    K: Clone + Resource<DynamicType: Clone + Eq + Hash>,
{
    /// Writes the objects of `events` to the store of `writer`.
    pub(super) fn new(events: St, writer: Writer<K>) -> Self {
        Self { filling: FillStore::new(events, writer) }
    }
}

impl<K, St> Stream for Reflect<St, K>
where
    K: Clone + Resource<DynamicType: Clone + Eq + Hash>,
    St: Stream<Item = Result<Event<K>>>,
{
    type Item = St::Item;

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.filling.size_hint()
    }

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<St::Item>> {
        self.project().filling.poll_next(cx)
    }
}
