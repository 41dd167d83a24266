//! [`ReceivedItems`]: the items of a list as a task receives them.

use std::fmt;
use std::task::{Context, Poll};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ListMeta;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tracing::Instrument;

use super::item::ItemDecoder;
use super::list::ListBody;
use super::ordered_map::Batch;
use super::split::RawItem;
use crate::error::{ErasedError, Error};

/// The items of a list, which a task receives at once, so that the server never waits for the caller: what is received and not decoded
/// is in memory as text, which is a fraction of the memory of its objects. For the watcher of `kube-runtime`.
///
/// Dropping it aborts the task.
pub struct ReceivedItems {
    pub(super) decoder: ItemDecoder,
    received: mpsc::UnboundedReceiver<Received>,
    task: AbortHandle,
}

/// What the task sends.
pub(super) enum Received {
    /// A batch that is full, or the last one. Never empty.
    Items(Batch<RawItem>),
    End(Result<ListMeta, ErasedError>),
}

impl ReceivedItems {
    /// Waits for the head of the list. Call it within a tokio runtime.
    pub(crate) async fn open(mut body: ListBody) -> Result<Self, Error> {
        let decoder = body.decoder().await?;
        let (sender, received) = mpsc::unbounded_channel();
        let task = tokio::spawn(receive(body, sender).in_current_span()).abort_handle();
        Ok(Self { decoder, received, task })
    }

    /// What was received next; `None` if the task ended early.
    pub(super) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Received>> {
        self.received.poll_recv(cx)
    }
}

impl fmt::Debug for ReceivedItems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReceivedItems").finish_non_exhaustive()
    }
}

impl Drop for ReceivedItems {
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
                let bytes = item.json.len();
                batch.push(item, bytes);
                if batch.is_full() && sender.send(Received::Items(std::mem::take(&mut batch))).is_err() {
                    return;
                }
            }
            Ok(None) => break body.metadata(),
            Err(err) => break Err(err),
        }
    };
    // Both fail if the reader was dropped.
    if !batch.is_empty() {
        let _ = sender.send(Received::Items(batch));
    }
    let _ = sender.send(Received::End(end.map_err(ErasedError::from)));
}
