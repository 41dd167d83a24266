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
    task::{Context, Poll},
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
        stream: St,
        writer: Writer<K>,
    }
}

impl<St, K> Reflect<St, K>
where
    K: Resource + Clone,
    K::DynamicType: Eq + Hash + Clone,
{
    pub(super) fn new(stream: St, writer: Writer<K>) -> Self {
        Self { stream, writer }
    }
}

impl<St, K> Stream for Reflect<St, K>
where
    K: Resource + Clone,
    K::DynamicType: Eq + Hash + Clone,
    St: Stream<Item = Result<Event<K>, Error>>,
{
    type Item = Result<Event<K>, Error>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.project();
        this.stream.poll_next(cx).map_ok(|event| this.writer.pass_through(event))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.stream.size_hint()
    }
}
