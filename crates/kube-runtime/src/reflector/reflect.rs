//! A stream adapter that fills a store.

use super::{object_ref::Lookup, store::Writer};
use crate::watcher::{Error, Event, Result};
use futures::Stream;
use pin_project_lite::pin_project;
use std::{
    collections::VecDeque,
    hash::Hash,
    pin::Pin,
    task::{Context, Poll, ready},
};

/// Writes the objects of a watcher stream to the store of `writer`, and passes the stream on unchanged.
///
/// The store changes when the returned stream is polled, before the stream returns the event. During a list the store keeps the
/// previous state; it is replaced atomically when the list is complete.
///
/// An object that cannot be decoded is an error of the stream. Its last readable state stays in the store until the object is
/// known to be deleted. If the error itself shows the deletion, an [`Event::Delete`] with the last readable state precedes it.
///
/// # Cost
///
/// Each object is cloned once, because both the store and the stream need it. An object that a list repeats unchanged (same
/// uid, resourceVersion and metadata) keeps its `Arc`, unless an error of the stream says that the storage was restored from a backup,
/// which may use versions again. So put adapters that drop errors behind this one. If an expired version is the only sign of a restore,
/// [`Writer::watch`] finds every difference, and this one those that show in the metadata: in the generation, and in the time and manager
/// of the last write, so leave the managed fields in the objects or do without this certainty.
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
    /// The events of a stream, each after it was applied to the store.
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
        // Returned before the stream is polled again.
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
                let deleted = this.writer.apply_error(&error);
                this.outbox.extend(deleted.iter().map(|last| Ok(Event::Delete((**last).clone()))));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reflector::store;
    use futures::{FutureExt, StreamExt, stream};
    use k8s_openapi::api::core::v1::ConfigMap;

    #[test]
    fn it_returns_what_the_stream_returns_and_ends_with_it() {
        let (store, writer) = store::<ConfigMap>();
        let events = [Event::Init, Event::InitApply(ConfigMap::default()), Event::InitDone];
        let mut filled = FillStore::new(stream::iter(events.map(Ok)), writer);
        assert_eq!(filled.size_hint(), (3, None));
        for left in [2, 1, 0] {
            assert!(matches!(filled.next().now_or_never(), Some(Some(Ok(_)))));
            assert_eq!(filled.size_hint(), (left, None));
        }
        assert!(filled.next().now_or_never().is_some_and(|end| end.is_none()));
        assert_eq!(store.len(), 1);
    }
}
