//! The items of a list, several of them decoded at the same time.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures::stream::BoxStream;
use futures::{Stream, StreamExt};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ListMeta;
use kube_core::DeserializeGuard;
use serde::de::DeserializeOwned;

use super::batches::{Batches, Decode, DecodeBy, TaskLost, Text};
use super::item_decoder::ItemDecoder;
use super::items::RawItem;
use super::known::KnownObjects;
use super::received_items::{Received, ReceivedItems};
use crate::error::{ErasedError, Error};

/// The items of a list in their order, then its metadata. An error is the last part. For the watcher of `kube-runtime`.
///
/// Items are decoded as the caller reads them, ahead of it by a few, by tasks of the runtime and by the caller.
pub struct ListItems<K: DeserializeOwned + Send + 'static> {
    items: Batches<KnownItemDecoder<K>>,
    received: BoxStream<'static, Received>,
    end: End,
}

/// What [`ListItems`] returns.
#[derive(Debug)]
pub enum ListPart<K> {
    /// The next items, at least one. Each may be invalid on its own.
    Items(Vec<DeserializeGuard<K>>),
    /// All items were returned.
    End(ListMeta),
}

#[derive(Debug)]
enum End {
    NotReceived,
    Received(Result<ListMeta, ErasedError>),
    Returned,
}

impl Text for RawItem {
    fn len(&self) -> usize {
        self.json.len()
    }
}

struct KnownItemDecoder<K> {
    known: KnownObjects<K>,
    decoder: ItemDecoder,
}

impl<K: DeserializeOwned + Send + 'static> Decode for KnownItemDecoder<K> {
    type Text = RawItem;
    type Value = DeserializeGuard<K>;

    fn another(&self) -> Self {
        Self { known: self.known.clone(), decoder: self.decoder.another() }
    }

    fn decode(&mut self, item: &RawItem) -> DeserializeGuard<K> {
        match self.known.find(&item.json) {
            Some(object) => DeserializeGuard(Ok(object)),
            None => self.decoder.decode_guarded(&item.json, &item.lengths),
        }
    }
}

impl<K: DeserializeOwned + Send + 'static> ListItems<K> {
    /// Objects of `known` are not decoded.
    pub(super) fn new(received: ReceivedItems, known: KnownObjects<K>, by: DecodeBy) -> Self {
        let items = Batches::new(KnownItemDecoder { known, decoder: received.decoder }, by);
        Self { items, received: received.parts, end: End::NotReceived }
    }

    fn take_received(&mut self, cx: &mut Context<'_>) {
        while matches!(self.end, End::NotReceived) && self.items.have_room() {
            match self.received.poll_next_unpin(cx) {
                Poll::Pending => return,
                Poll::Ready(Some(Received::Items(batch))) => self.items.push_batch(batch),
                Poll::Ready(Some(Received::End(end))) => self.end = End::Received(end),
                Poll::Ready(None) => self.end = End::Received(Err(task_lost())),
            }
        }
    }
}

/// Its objects are never pinned.
impl<K: DeserializeOwned + Send + 'static> Unpin for ListItems<K> {}

impl<K: DeserializeOwned + Send + 'static> Stream for ListItems<K> {
    type Item = Result<ListPart<K>, ErasedError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        this.take_received(cx);
        match ready!(this.items.poll_batch(cx)) {
            Some(Ok(items)) => return Poll::Ready(Some(Ok(ListPart::Items(items)))),
            Some(Err(TaskLost)) => this.end = End::Received(Err(task_lost())),
            None => {}
        }
        match std::mem::replace(&mut this.end, End::Returned) {
            End::NotReceived => {
                this.end = End::NotReceived;
                Poll::Pending
            }
            End::Received(end) => Poll::Ready(Some(end.map(ListPart::End))),
            End::Returned => Poll::Ready(None),
        }
    }
}

impl<K: DeserializeOwned + Send + 'static> fmt::Debug for ListItems<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ListItems")
            .field("items", &self.items)
            .field("end", &self.end)
            .finish_non_exhaustive()
    }
}

fn task_lost() -> ErasedError {
    Error::Service("a task that received or decoded a list ended early".into()).into()
}

#[cfg(test)]
#[path = "list_items_tests.rs"]
mod tests;
