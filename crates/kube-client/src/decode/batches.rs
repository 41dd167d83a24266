//! Decodes texts in their order, several batches of them at the same time.

use parking_lot::Mutex;
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::vec;

use futures::FutureExt;
use tokio::runtime::{Handle, RuntimeFlavor};

use crate::task;

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
    /// The reader alone, one object after the other. For objects of which most are dropped at once, as in a relist: the memory of one is
    /// that of the next. The same time, and less CPU time, because no thread frees what another one has allocated.
    Reader,
}

/// Decodes one text after the other.
pub(super) trait Decode: Send + 'static {
    type Text: Text;
    type Value: Send + 'static;

    /// One for another task.
    fn another(&self) -> Self;

    fn decode(&mut self, text: &Self::Text) -> Self::Value;
}

pub(super) trait Text: Send + 'static {
    /// The length in bytes.
    fn len(&self) -> usize;
}

/// Texts that one task decodes.
pub(super) struct Batch<T> {
    texts: VecDeque<T>,
    bytes: usize,
}

impl<T> Default for Batch<T> {
    fn default() -> Self {
        Self { texts: VecDeque::new(), bytes: 0 }
    }
}

impl<T: Text> Batch<T> {
    pub(super) fn push(&mut self, text: T) {
        self.bytes += text.len();
        self.texts.push_back(text);
    }

    fn pop(&mut self) -> Option<T> {
        let text = self.texts.pop_front()?;
        self.bytes -= text.len();
        Some(text)
    }

    pub(super) fn is_full(&self) -> bool {
        self.bytes >= BATCH_BYTES || self.texts.len() >= BATCH_TEXTS
    }
}

/// Decodes texts by tasks of the runtime and by the reader, which never waits for a task that has not begun: on a busy machine it decodes
/// them all. Texts that do not fill a batch are decoded by the reader, without a task; so are all if the runtime has one thread.
pub(super) struct Batches<D: Decode> {
    decoder: D,
    /// `None` if the reader decodes alone.
    runtime: Option<Handle>,
    /// Texts that are not decoded.
    waiting: Batch<D::Text>,
    /// Tasks, the oldest first. Their texts precede those in `waiting`.
    running: VecDeque<Decoding<D>>,
    /// Values of the last task that was read.
    decoded: vec::IntoIter<D::Value>,
    /// The texts of the last task that had not begun.
    taken_back: Batch<D::Text>,
}

/// The oldest batch.
enum Oldest<D: Decode> {
    Decoded(Vec<D::Value>),
    NotBegun(Batch<D::Text>),
}

/// A task ended without its values: the runtime shut down, or a panic was not caught.
pub(super) struct TaskLost;

impl<D: Decode> Batches<D> {
    /// Tasks run on the current runtime.
    pub(super) fn new(decoder: D, by: DecodeBy) -> Self {
        let runtime = match by {
            DecodeBy::Tasks => Handle::try_current().ok().filter(has_threads),
            DecodeBy::Reader => None,
        };
        Self {
            decoder,
            runtime,
            waiting: Batch::default(),
            running: VecDeque::new(),
            decoded: Vec::new().into_iter(),
            taken_back: Batch::default(),
        }
    }

    /// Whether more texts should be added now. Otherwise some must be read first.
    pub(super) fn have_room(&self) -> bool {
        match self.runtime {
            Some(_) => self.running.len() < MAX_BATCHES,
            None => self.waiting.texts.is_empty(),
        }
    }

    /// Adds a text. A task decodes it as soon as there are enough of them.
    pub(super) fn push(&mut self, text: D::Text) {
        self.waiting.push(text);
        if self.waiting.is_full() && self.runtime.is_some() {
            let batch = std::mem::take(&mut self.waiting);
            self.push_batch(batch);
        }
    }

    /// Adds a batch, the last one or a full one, while there is [room](Self::have_room).
    pub(super) fn push_batch(&mut self, batch: Batch<D::Text>) {
        debug_assert!(self.waiting.texts.is_empty(), "invariant: a batch follows full ones");
        match &self.runtime {
            Some(runtime) if batch.is_full() => {
                self.running.push_back(Decoding::spawn(runtime, batch, self.decoder.another()));
            }
            _ => self.waiting = batch,
        }
    }

    /// The next value, if it needs neither a task nor a text that is waiting.
    pub(super) fn next_decoded(&mut self) -> Option<D::Value> {
        self.decoded.next().or_else(|| self.taken_back.pop().map(|text| self.decoder.decode(&text)))
    }

    /// The next value; `None` if all texts have been decoded.
    pub(super) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<D::Value, TaskLost>>> {
        loop {
            if let Some(value) = self.next_decoded() {
                return Poll::Ready(Some(Ok(value)));
            }
            match ready!(self.poll_oldest(cx)) {
                Some(Ok(Oldest::Decoded(values))) => self.decoded = values.into_iter(),
                Some(Ok(Oldest::NotBegun(batch))) => self.taken_back = batch,
                Some(Err(ended)) => return Poll::Ready(Some(Err(ended))),
                None => return Poll::Ready(None),
            }
        }
    }

    /// The values of the next batch; `None` if all texts have been decoded. For readers that never call [`poll_next`](Self::poll_next),
    /// which may have returned a part of a batch.
    pub(super) fn poll_batch(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Vec<D::Value>, TaskLost>>> {
        Poll::Ready(ready!(self.poll_oldest(cx)).map(|oldest| {
            Ok(match oldest? {
                Oldest::Decoded(values) => values,
                Oldest::NotBegun(batch) => batch.texts.iter().map(|text| self.decoder.decode(text)).collect(),
            })
        }))
    }

    fn poll_oldest(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Oldest<D>, TaskLost>>> {
        let Some(oldest) = self.running.front_mut() else {
            let waiting = std::mem::take(&mut self.waiting);
            return Poll::Ready((!waiting.texts.is_empty()).then_some(Ok(Oldest::NotBegun(waiting))));
        };
        let oldest = ready!(oldest.poll(cx));
        self.running.pop_front();
        if oldest.is_err() {
            self.running.clear();
            self.waiting = Batch::default();
        }
        Poll::Ready(Some(oldest))
    }

    pub(super) fn decoder(&mut self) -> &mut D {
        &mut self.decoder
    }
}

impl<D: Decode> fmt::Debug for Batches<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batches")
            .field("running", &self.running.len())
            .field("waiting_bytes", &(self.waiting.bytes + self.taken_back.bytes))
            .finish_non_exhaustive()
    }
}

/// A task that decodes a batch. It ends after the current text once this is dropped.
struct Decoding<D: Decode> {
    /// `None` once the task has begun.
    batch: Arc<Mutex<Option<Batch<D::Text>>>>,
    /// A `Vec<D::Value>`.
    values: task::Output,
}

impl<D: Decode> Decoding<D> {
    fn spawn(runtime: &Handle, batch: Batch<D::Text>, mut decoder: D) -> Self {
        let batch = Arc::new(Mutex::new(Some(batch)));
        let for_task = Arc::clone(&batch);
        let work: task::Work = Box::new(move |is_abandoned| {
            let batch = take(&for_task)?;
            let mut values = Vec::with_capacity(batch.texts.len());
            for text in batch.texts {
                if is_abandoned() {
                    return None;
                }
                values.push(decoder.decode(&text));
            }
            Some(Box::new(values))
        });
        Self { batch, values: task::spawn_work(runtime, work) }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Oldest<D>, TaskLost>> {
        if let Some(batch) = take(&self.batch) {
            return Poll::Ready(Ok(Oldest::NotBegun(batch)));
        }
        let values = ready!(self.values.poll_unpin(cx)).and_then(|values| values.downcast().ok());
        Poll::Ready(values.map(|values| Oldest::Decoded(*values)).ok_or(TaskLost))
    }
}

fn take<T>(batch: &Mutex<Option<Batch<T>>>) -> Option<Batch<T>> {
    batch.lock().take()
}

fn has_threads(runtime: &Handle) -> bool {
    runtime.runtime_flavor() != RuntimeFlavor::CurrentThread && runtime.metrics().num_workers() > 1
}
