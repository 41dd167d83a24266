//! The pass-through that fills a store.

use super::{Lookup, store::Writer};
use crate::watcher::{Error, Event, Result};
use futures::Stream;
use pin_project_lite::pin_project;
use std::{
    collections::VecDeque,
    hash::Hash,
    pin::Pin,
    task::{Context, Poll, ready},
};

/// Keeps the objects of a watcher stream in the store behind `writer`, and passes the stream on unchanged.
///
/// The store changes as the returned stream is polled, before the event comes out of it. During a list it keeps the
/// state before, and changes over at once when the list is complete.
///
/// An object that cannot be decoded is an error of the stream, and keeps its last readable state in the store until it is proven to
/// be gone. Where an error is that proof, an [`Event::Delete`] with the last readable state comes out ahead of it.
///
/// # Cost
///
/// Each object is cloned once, as it goes both into the store and on. An object that a list repeats unchanged (same
/// uid and resourceVersion) keeps its place in memory.
///
/// ```
/// use futures::{StreamExt, executor::block_on, stream};
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube_runtime::{reflector, watcher::Event};
///
/// let (store, writer) = reflector::store::<ConfigMap>();
/// let events = [Event::Init, Event::InitApply(ConfigMap::default()), Event::InitDone];
/// let passed = block_on(reflector::reflector(writer, stream::iter(events.map(Ok))).count());
/// assert_eq!((passed, store.len()), (3, 1));
/// ```
pub fn reflector<K, W>(writer: Writer<K>, stream: W) -> impl Stream<Item = W::Item>
where
    K: Lookup + Clone,
    K::DynamicType: Eq + Hash + Clone,
    W: Stream<Item = Result<Event<K>>>,
{
    FillStore::new(stream, writer)
}

pin_project! {
    /// The events of a stream, each once the store has taken it in.
    pub(crate) struct FillStore<St, K>
    where
        K: Lookup,
        K: Clone,
        K: 'static,
        K::DynamicType: Eq,
        K::DynamicType: Hash,
        K::DynamicType: Clone,
    {
        #[pin]
        stream: St,
        writer: Writer<K>,
        // To come before the stream goes on.
        outbox: VecDeque<Result<Event<K>>>,
    }
}

impl<St, K> FillStore<St, K>
where
    K: Lookup + Clone,
    K::DynamicType: Eq + Hash + Clone,
{
    pub(crate) fn new(stream: St, writer: Writer<K>) -> Self {
        Self { stream, writer, outbox: VecDeque::new() }
    }
}

impl<St, K> Stream for FillStore<St, K>
where
    K: Lookup + Clone,
    K::DynamicType: Eq + Hash + Clone,
    St: Stream<Item = Result<Event<K>, Error>>,
{
    type Item = Result<Event<K>>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.project();
        if let Some(item) = this.outbox.pop_front() {
            return Poll::Ready(Some(item));
        }
        Poll::Ready(match ready!(this.stream.poll_next(cx)) {
            Some(Ok(event)) => Some(Ok(this.writer.pass_through(event))),
            Some(Err(error)) => {
                let gone = this.writer.take_in_error(&error);
                this.outbox.extend(gone.iter().map(|last| Ok(Event::Delete((**last).clone()))));
                this.outbox.push_back(Err(error));
                this.outbox.pop_front()
            }
            None => None,
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let (least, _) = self.stream.size_hint();
        (least.saturating_add(self.outbox.len()), None)
    }
}
