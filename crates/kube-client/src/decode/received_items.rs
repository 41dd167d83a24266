//! [`ReceivedItems`]: the items of a list as a task receives them.

use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ListMeta;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::AbortHandle;
use tracing::Instrument;

use super::item::ItemDecoder;
use super::list::ListBody;
use super::ordered_map::Batch;
use super::split::RawItem;
use crate::error::{ErasedError, Error};

/// The items of a list, which a task receives at once, so that the server does not wait for the caller: what is received and not decoded
/// is in memory as text, which is a fraction of the memory of its objects. For the watcher of `kube-runtime`.
///
/// When as many bytes wait as one object may have (`Config::collect_limit`), the task reads on only after the caller has taken some.
///
/// Dropping it aborts the task.
pub struct ReceivedItems {
    pub(super) decoder: ItemDecoder,
    received: mpsc::UnboundedReceiver<Received>,
    task: AbortHandle,
}

/// What the task sends.
pub(super) enum Received {
    /// A batch that is full, or the last one. Never empty. Its bytes count as waiting until the permit is dropped.
    Items(Batch<RawItem>, OwnedSemaphorePermit),
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
    let room = Room::new(body.limit());
    let mut batch = Batch::default();
    let end = loop {
        match body.next_raw().await {
            Ok(Some(item)) => {
                let bytes = item.json.len();
                batch.push(item, bytes);
                if batch.is_full() && !send(&sender, &room, std::mem::take(&mut batch)).await {
                    return;
                }
            }
            Ok(None) => break body.metadata(),
            Err(err) => break Err(err),
        }
    };
    if !batch.is_empty() {
        send(&sender, &room, batch).await;
    }
    // Fails if the reader was dropped.
    let _ = sender.send(Received::End(end.map_err(ErasedError::from)));
}

/// Waits for room; false if the reader was dropped.
async fn send(sender: &mpsc::UnboundedSender<Received>, room: &Room, batch: Batch<RawItem>) -> bool {
    let permit = room.take(batch.bytes()).await;
    sender.send(Received::Items(batch, permit)).is_ok()
}

/// How much text may wait, in KiB: permits of a semaphore are counted in 32 bits.
struct Room {
    free: Arc<Semaphore>,
    size: u32,
}

impl Room {
    fn new(bytes: usize) -> Self {
        let size = u32::try_from(bytes >> 10).unwrap_or(u32::MAX).clamp(1, 1 << 28);
        Self { free: Arc::new(Semaphore::new(size as usize)), size }
    }

    /// A batch may be larger than the whole room: it then waits for all of it.
    async fn take(&self, bytes: usize) -> OwnedSemaphorePermit {
        let needed = u32::try_from(bytes.div_ceil(1 << 10)).unwrap_or(u32::MAX).min(self.size);
        let free = Arc::clone(&self.free);
        free.acquire_many_owned(needed).await.expect("invariant: the semaphore is never closed")
    }
}
