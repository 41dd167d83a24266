//! The items of a list as a task receives them. Nothing here depends on the type of the objects, so that it is compiled once.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures::stream::BoxStream;
use futures::{FutureExt, Stream, StreamExt};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ListMeta;
use serde::de::DeserializeOwned;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tracing::Instrument;

use super::batches::{Batch, DecodeBy};
use super::item_decoder::ItemDecoder;
use super::items::RawItem;
use super::known::KnownObjects;
use super::list::ListBody;
use super::list_items::ListItems;
use crate::error::{ErasedError, Error};
use crate::task;

/// The items of a list, which a task receives at once, so that the server never waits for the caller: what is received and not decoded
/// is in memory as text, which is a fraction of the memory of its objects. For the watcher of `kube-runtime`.
///
/// Dropping it aborts the task.
pub struct ReceivedItems {
    pub(super) decoder: ItemDecoder,
    pub(super) parts: BoxStream<'static, Received>,
}

/// What the task sends.
pub(super) enum Received {
    /// A full batch, or the last one.
    Items(Batch<RawItem>),
    End(Result<ListMeta, ErasedError>),
}

impl ReceivedItems {
    /// Waits for the head of the list. Call it within a tokio runtime.
    pub(crate) async fn open(mut body: ListBody) -> Result<Self, Error> {
        let decoder = body.decoder().await?;
        Ok(Self { decoder, parts: Receiving::start(body).boxed() })
    }

    /// The items in batches. Objects of `known` are not decoded.
    pub fn decode<K: DeserializeOwned + Send + 'static>(
        self,
        known: KnownObjects<K>,
        by: DecodeBy,
    ) -> ListItems<K> {
        ListItems::new(self, known, by)
    }
}

impl fmt::Debug for ReceivedItems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReceivedItems").finish_non_exhaustive()
    }
}

/// The task and what it has sent.
struct Receiving {
    received: mpsc::UnboundedReceiver<Received>,
    task: AbortHandle,
}

impl Receiving {
    fn start(body: ListBody) -> Self {
        let (sender, received) = mpsc::unbounded_channel();
        let receiving = receive(body, sender).in_current_span();
        Self { received, task: task::spawn(&Handle::current(), receiving.boxed()).abort_handle() }
    }
}

impl Stream for Receiving {
    type Item = Received;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Received>> {
        self.received.poll_recv(cx)
    }
}

impl Drop for Receiving {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Receives the whole list. Ends early if the reader was dropped.
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
    // Both fail if the reader was dropped.
    let _ = sender.send(Received::Items(batch));
    let _ = sender.send(Received::End(end.map_err(ErasedError::from)));
}
