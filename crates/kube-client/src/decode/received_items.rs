//! [`ReceivedItems`]: the items of a list as a task receives them.

use std::fmt;
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ListMeta;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::AbortHandle;
use tracing::Instrument;

use super::item::ItemDecoder;
use super::list::ListBody;
use super::ordered_map::{BATCH_BYTES, Batch};
use super::split::RawItem;
use crate::error::{ErasedError, Error};

/// The items of a list, which a task receives at once, so that the server does not wait for the caller: what is received and not decoded
/// is in memory as text, which is a fraction of the memory of its objects. For the watcher of `kube-runtime`.
///
/// When as many bytes wait as one object may have (`Config::collect_limit`), the task reads on only after the caller has taken some. When
/// those of all lists of the process are 8 MiB, one batch waits for each other caller: many clusters are listed at once.
///
/// Dropping it aborts the task.
pub struct ReceivedItems {
    pub(super) decoder: ItemDecoder,
    received: mpsc::UnboundedReceiver<Received>,
    task: AbortHandle,
}

/// What the task sends.
pub(super) enum Received {
    /// A batch that is full, or the last one. Never empty. Its bytes count as waiting until the permits are dropped.
    Items(Batch<RawItem>, [OwnedSemaphorePermit; 2]),
    End(Result<ListMeta, ErasedError>),
}

impl ReceivedItems {
    /// Waits for the head of the list. Call it within a tokio runtime.
    pub(crate) async fn open(body: ListBody) -> Result<Self, Error> {
        Self::open_with(body, Arc::clone(&OF_ALL)).await
    }

    /// The same with this room for the lists that share it.
    pub(super) async fn open_with(mut body: ListBody, of_all: Arc<Semaphore>) -> Result<Self, Error> {
        let decoder = body.decoder().await?;
        let (sender, received) = mpsc::unbounded_channel();
        let task = tokio::spawn(receive(body, sender, of_all).in_current_span()).abort_handle();
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
async fn receive(mut body: ListBody, sender: mpsc::UnboundedSender<Received>, of_all: Arc<Semaphore>) {
    let room = Room { of_list: Share::new(body.limit()), of_batch: Share::new(BATCH_BYTES), of_all };
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
    let permits = room.take(batch.bytes()).await;
    sender.send(Received::Items(batch, permits)).is_ok()
}

/// How much text of all lists may wait, in KiB.
static OF_ALL: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(8 << 10)));

/// How much text may wait.
struct Room {
    of_list: Share,
    /// For one batch that has no room in `of_all`: a caller that does not read takes nothing from the others.
    of_batch: Share,
    of_all: Arc<Semaphore>,
}

impl Room {
    async fn take(&self, bytes: usize) -> [OwnedSemaphorePermit; 2] {
        let of_list = self.of_list.take(bytes).await;
        let of_all = Arc::clone(&self.of_all).try_acquire_many_owned(kib(bytes));
        let beside_others = match of_all {
            Ok(permit) => permit,
            Err(_) => self.of_batch.take(bytes).await,
        };
        [of_list, beside_others]
    }
}

/// Room for so many KiB: permits of a semaphore are counted in 32 bits.
struct Share {
    free: Arc<Semaphore>,
    size: u32,
}

impl Share {
    fn new(bytes: usize) -> Self {
        let size = u32::try_from(bytes >> 10).unwrap_or(u32::MAX).clamp(1, 1 << 28);
        Self { free: Arc::new(Semaphore::new(size as usize)), size }
    }

    /// A batch may be larger than the whole room: it then waits for all of it.
    async fn take(&self, bytes: usize) -> OwnedSemaphorePermit {
        let free = Arc::clone(&self.free);
        let needed = kib(bytes).min(self.size);
        free.acquire_many_owned(needed).await.expect("invariant: the semaphore is never closed")
    }
}

fn kib(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(1 << 10)).unwrap_or(u32::MAX)
}
