//! Filling a store on the way.

use crate::{
    reflector::store::Writer,
    watcher::{Error, Event},
};
use futures::Stream;
use kube_core::Resource;
use pin_project_lite::pin_project;
use std::{
    hash::Hash,
    pin::Pin,
    task::{Context, Poll, ready},
};

pin_project! {
    /// Events that also fill a store. Made by [`reflect`](super::WatchStreamExt::reflect).
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
        events: St,
        writer: Writer<K>,
    }
}

impl<K, St> Reflect<St, K>
where
    K: Clone + Resource<DynamicType: Clone + Eq + Hash>,
{
    /// Writes what `events` yields to the store of `writer`, and yields it.
    pub(super) fn new(events: St, writer: Writer<K>) -> Self {
        Self { events, writer }
    }
}

impl<K, St> Stream for Reflect<St, K>
where
    K: Clone + Resource<DynamicType: Clone + Eq + Hash>,
    St: Stream<Item = Result<Event<K>, Error>>,
{
    type Item = St::Item;

    fn size_hint(&self) -> (usize, Option<usize>) {
        // One out for one in.
        self.events.size_hint()
    }

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<St::Item>> {
        let reflect = self.project();
        let next = ready!(reflect.events.poll_next(cx));
        Poll::Ready(next.map(|result| result.map(|event| reflect.writer.pass_through(event))))
    }
}
