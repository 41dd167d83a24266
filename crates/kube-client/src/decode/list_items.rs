//! The items of a list: one task receives them, and several are decoded at the same time.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures::{FutureExt, Stream};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ListMeta;
use kube_core::DeserializeGuard;
use serde::de::DeserializeOwned;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tracing::Instrument;

use super::batches::{Batch, Batches, Decode, DecodeBy, TaskLost, Text};
use super::item_decoder::ItemDecoder;
use super::items::RawItem;
use super::known::KnownObjects;
use super::list::ListBody;
use crate::error::Error;
use crate::task;

/// The items of a list in their order, then its metadata. An error is the last part. For the watcher of `kube-runtime`.
///
/// A task receives the items at once, so that the server never waits for the caller: what is received and not decoded is in memory as
/// text, which is a fraction of the memory of its objects. Items are decoded as the caller reads them, ahead of it by a few, by tasks of the
/// runtime and by the caller.
#[derive(Debug)]
pub struct ListItems<K: DeserializeOwned + Send + 'static> {
    items: Batches<KnownItemDecoder<K>>,
    received: mpsc::UnboundedReceiver<Received>,
    end: End,
    receiving: AbortHandle,
}

/// What [`ListItems`] returns.
#[derive(Debug)]
pub enum ListPart<K> {
    /// The next items, at least one. Each may be invalid on its own.
    Items(Vec<DeserializeGuard<K>>),
    /// All items were returned.
    End(ListMeta),
}

/// What the task sends.
enum Received {
    /// A full batch, or the last one.
    Items(Batch<RawItem>),
    End(Result<ListMeta, Error>),
}

#[derive(Debug)]
enum End {
    NotReceived,
    Received(Result<ListMeta, Error>),
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
    /// Objects of `known` are not decoded. Call it within a tokio runtime.
    pub(crate) async fn open(
        mut body: ListBody,
        known: KnownObjects<K>,
        by: DecodeBy,
    ) -> Result<Self, Error> {
        let decoder = body.decoder().await?;
        let (received, receiving) = start_receiving(body);
        let items = Batches::new(KnownItemDecoder { known, decoder }, by);
        Ok(Self { items, received, end: End::NotReceived, receiving })
    }

    fn take_received(&mut self, cx: &mut Context<'_>) {
        while matches!(self.end, End::NotReceived) && self.items.have_room() {
            match self.received.poll_recv(cx) {
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
    type Item = Result<ListPart<K>, Error>;

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

impl<K: DeserializeOwned + Send + 'static> Drop for ListItems<K> {
    fn drop(&mut self) {
        self.receiving.abort();
    }
}

impl fmt::Debug for Received {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Items(_) => "Items",
            Self::End(_) => "End",
        })
    }
}

/// Starts the task that receives the list. It does not depend on the type of the objects, so that it is compiled once.
fn start_receiving(body: ListBody) -> (mpsc::UnboundedReceiver<Received>, AbortHandle) {
    let (sender, received) = mpsc::unbounded_channel();
    let receiving = receive(body, sender).in_current_span();
    (received, task::spawn(&Handle::current(), receiving.boxed()).abort_handle())
}

/// Receives the whole list. Ends early if the `ListItems` was dropped.
async fn receive(mut body: ListBody, sender: mpsc::UnboundedSender<Received>) {
    let mut batch = Batch::default();
    let end = loop {
        match body.next_raw().await {
            Ok(Some(item)) => {
                batch.push(item);
                if batch.is_full() && sender.send(Received::Items(std::mem::take(&mut batch))).is_err() {
                    return;
                }
            }
            Ok(None) => break body.metadata(),
            Err(err) => break Err(err),
        }
    };
    // Both fail if the `ListItems` was dropped.
    let _ = sender.send(Received::Items(batch));
    let _ = sender.send(Received::End(end));
}

fn task_lost() -> Error {
    Error::Service("a task that received or decoded a list ended early".into())
}

#[cfg(test)]
#[path = "list_items_tests.rs"]
mod tests;
