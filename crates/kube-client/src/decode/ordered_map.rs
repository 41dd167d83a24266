//! [`OrderedMap`]: decodes batches of texts in their order, several at the same time.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures::FutureExt;
use parking_lot::Mutex;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::{JoinError, JoinHandle};

/// How many bytes, or else texts, a task decodes: some hundred microseconds of work, far more than a task costs.
pub(super) const BATCH_BYTES: usize = 128 << 10;
const BATCH_TEXTS: usize = 512;
/// How many batches are decoded, or were decoded and not yet read. Objects need several times the memory of their text, and more of them
/// would leave the CPU's caches before they are read.
pub(super) const MAX_BATCHES: usize = 3;

/// Who decodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DecodeBy {
    /// Tasks of the runtime and the reader. For objects that are kept.
    #[default]
    Tasks,
    /// The reader alone, one batch after the other. For objects of which most are dropped at once, as in a relist: the memory of one is
    /// that of the next. The same time, and less CPU time, because no thread frees what another one has allocated.
    Reader,
}

/// Decodes one text after the other. Clones are for other tasks.
pub(super) trait Decode: Clone + Send + 'static {
    type Text: Send + 'static;
    type Value: Send + 'static;

    fn decode(&mut self, text: &Self::Text) -> Self::Value;
}

/// A bounded queue of batches, which are decoded by tasks of the runtime and returned in order.
///
/// The reader does not wait for a task that has not begun: it takes the batch back and decodes it. So a busy runtime delays nothing.
/// Batches that are not full are not worth a task, and are left to the reader; so are all if the runtime has one thread.
///
/// Dropping it ends each task after the text that it decodes.
pub(super) struct OrderedMap<D: Decode> {
    decoder: D,
    /// `None` if the reader decodes alone.
    runtime: Option<Handle>,
    /// The oldest first.
    queue: VecDeque<Queued<D>>,
}

enum Queued<D: Decode> {
    ForReader(Vec<D::Text>),
    Spawned { texts: Shared<D::Text>, task: JoinHandle<Vec<D::Value>> },
}

/// The texts of a task; `None` once it has begun, or the reader has taken them.
type Shared<T> = Arc<Mutex<Option<Vec<T>>>>;

impl<D: Decode> OrderedMap<D> {
    /// Tasks run on the current runtime.
    pub(super) fn new(decoder: D, by: DecodeBy) -> Self {
        let runtime = match by {
            DecodeBy::Tasks => Handle::try_current().ok().filter(has_threads),
            DecodeBy::Reader => None,
        };
        Self { decoder, runtime, queue: VecDeque::new() }
    }

    /// Whether tasks decode. Otherwise nothing is gained by batches of several texts.
    pub(super) fn has_tasks(&self) -> bool {
        self.runtime.is_some()
    }

    /// Whether a batch should be added now. Otherwise one must be read first.
    pub(super) fn has_room(&self) -> bool {
        self.queue.len() < if self.has_tasks() { MAX_BATCHES } else { 1 }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// For a text outside of the batches.
    pub(super) fn decoder(&mut self) -> &mut D {
        &mut self.decoder
    }

    pub(super) fn push(&mut self, batch: Batch<D::Text>) {
        self.queue.push_back(match &self.runtime {
            Some(runtime) if batch.is_full() => spawn(runtime, batch.texts, self.decoder.clone()),
            _ => Queued::ForReader(batch.texts),
        });
    }

    /// The values of the oldest batch; `None` if there is none.
    ///
    /// # Errors
    /// If its task ended early, because the runtime shut down. The other batches are dropped.
    pub(super) fn poll_next(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Vec<D::Value>, JoinError>>> {
        let Some(oldest) = self.queue.front_mut() else { return Poll::Ready(None) };
        let decoded = match oldest {
            Queued::ForReader(texts) => Ok(decode_all(&mut self.decoder, texts)),
            Queued::Spawned { texts, task } => match take(texts) {
                Some(texts) => Ok(decode_all(&mut self.decoder, &texts)),
                None => ready!(task.poll_unpin(cx)),
            },
        };
        self.queue.pop_front();
        if decoded.is_err() {
            self.queue.clear();
        }
        Poll::Ready(Some(decoded))
    }
}

impl<D: Decode> fmt::Debug for OrderedMap<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OrderedMap").field("batches", &self.queue.len()).finish_non_exhaustive()
    }
}

/// Texts that are decoded together.
pub(super) struct Batch<T> {
    texts: Vec<T>,
    bytes: usize,
}

impl<T> Batch<T> {
    pub(super) fn push(&mut self, text: T, bytes: usize) {
        self.bytes += bytes;
        self.texts.push(text);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn is_full(&self) -> bool {
        self.bytes >= BATCH_BYTES || self.texts.len() >= BATCH_TEXTS
    }
}

impl<T> fmt::Debug for Batch<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batch").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

impl<T> Default for Batch<T> {
    fn default() -> Self {
        Self { texts: Vec::new(), bytes: 0 }
    }
}

fn spawn<D: Decode>(runtime: &Handle, texts: Vec<D::Text>, mut decoder: D) -> Queued<D> {
    let texts = Arc::new(Mutex::new(Some(texts)));
    let of_task = Arc::clone(&texts);
    let task = runtime.spawn(async move {
        let texts = take(&of_task).unwrap_or_default();
        let mut values = Vec::with_capacity(texts.len());
        for text in texts {
            if Arc::strong_count(&of_task) == 1 {
                break; // the queue was dropped
            }
            values.push(decoder.decode(&text));
        }
        values
    });
    Queued::Spawned { texts, task }
}

fn decode_all<D: Decode>(decoder: &mut D, texts: &[D::Text]) -> Vec<D::Value> {
    texts.iter().map(|text| decoder.decode(text)).collect()
}

fn take<T>(texts: &Shared<T>) -> Option<Vec<T>> {
    texts.lock().take()
}

fn has_threads(runtime: &Handle) -> bool {
    runtime.runtime_flavor() != RuntimeFlavor::CurrentThread && runtime.metrics().num_workers() > 1
}
