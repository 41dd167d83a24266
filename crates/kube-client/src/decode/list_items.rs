//! The items of a list, several of them decoded at the same time.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures::Stream;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ListMeta;
use kube_core::DeserializeGuard;
use serde::de::DeserializeOwned;

use super::item::ItemDecoder;
use super::known::KnownObjects;
use super::ordered_map::{Decode, DecodeBy, OrderedMap};
use super::received_items::{Received, ReceivedItems};
use super::split::RawItem;
use crate::error::{ErasedError, Error};

/// The items of a list in their order, then its metadata. An error is the last part. For the watcher of `kube-runtime`.
///
/// Items are decoded as the caller reads them, ahead of it by a few, by tasks of the runtime and by the caller.
pub struct ListItems<K: DeserializeOwned + Send + 'static> {
    received: ReceivedItems,
    decoded: OrderedMap<KnownItemDecoder<K>>,
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

impl<K: DeserializeOwned + Send + 'static> ListItems<K> {
    /// Objects of `known` are not decoded.
    pub fn new(received: ReceivedItems, known: KnownObjects<K>, by: DecodeBy) -> Self {
        let decoder = KnownItemDecoder { known, decoder: received.decoder.clone() };
        Self { received, decoded: OrderedMap::new(decoder, by), end: End::NotReceived }
    }

    fn read_ahead(&mut self, cx: &mut Context<'_>) {
        while matches!(self.end, End::NotReceived) && self.decoded.has_room() {
            match self.received.poll_next(cx) {
                Poll::Pending => return,
                Poll::Ready(Some(Received::Items(batch, _permits))) => self.decoded.push(batch),
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
        this.read_ahead(cx);
        match ready!(this.decoded.poll_next(cx)) {
            Some(Ok(items)) => return Poll::Ready(Some(Ok(ListPart::Items(items)))),
            Some(Err(_)) => this.end = End::Received(Err(task_lost())),
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
            .field("decoded", &self.decoded)
            .field("end", &self.end)
            .finish_non_exhaustive()
    }
}

/// Decodes the items that no cache has.
struct KnownItemDecoder<K> {
    known: KnownObjects<K>,
    decoder: ItemDecoder,
}

impl<K> Clone for KnownItemDecoder<K> {
    fn clone(&self) -> Self {
        Self { known: self.known.clone(), decoder: self.decoder.clone() }
    }
}

impl<K: DeserializeOwned + Send + 'static> Decode for KnownItemDecoder<K> {
    type Text = RawItem;
    type Value = DeserializeGuard<K>;

    fn decode(&mut self, item: &RawItem) -> DeserializeGuard<K> {
        let mut object = match item.version().and_then(|version| self.known.find(&version, &item.json)) {
            Some(object) => DeserializeGuard(Ok(object)),
            None => self.decoder.decode_guarded(&item.json, &item.lengths),
        };
        self.known.note(&item.json, &mut object);
        object
    }
}

fn task_lost() -> ErasedError {
    Error::Service("a task that received or decoded a list ended early".into()).into()
}

#[cfg(test)]
#[path = "list_items_tests.rs"]
mod tests;
