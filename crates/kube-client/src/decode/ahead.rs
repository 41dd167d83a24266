//! The body of a watch as a stream of events, of which several are decoded at the same time.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::vec;

use bytes::Bytes;
use futures::{FutureExt, Stream};
use kube_core::{DeserializeGuard, WatchEvent};
use serde::de::DeserializeOwned;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::oneshot;

use super::array_lengths::ValueScanner;
use super::event_lines::{EventLines, Line};
use super::events::decode_guarded;
use super::heap_room::HeapRoom;
use super::known::KnownObjects;
use super::prune::Prune;
use crate::body::Body;
use crate::error::Error;

type Event<K> = Result<WatchEvent<DeserializeGuard<K>>, Error>;

/// How many bytes, or else lines, a task decodes: some hundred microseconds of work, far more than a task costs.
const BATCH_BYTES: usize = 128 << 10;
const BATCH_LINES: usize = 512;
/// How many batches are decoded, or were decoded and not yet read. Objects need several times the memory of their text, and more of them
/// would leave the CPU's caches before they are read.
const MAX_BATCHES: usize = 3;

/// The events of a watch, in order, as with [`EventStream::guarded`](super::EventStream::guarded).
///
/// Lines that are received faster than they are read, as in a streaming list, are decoded by tasks of the runtime and by the reader, which
/// never waits for a task that has not begun: on a busy machine it decodes them all. A line that arrives alone is decoded by the
/// reader, without a task; so are all lines if the runtime has one thread.
#[derive(Debug)]
pub(crate) struct AheadStream<K> {
    lines: EventLines,
    decoder: Decoder<K>,
    /// `None` if it has one thread.
    runtime: Option<Handle>,
    /// Lines that were received and not decoded.
    waiting: Batch,
    /// Tasks, the oldest first. Their lines precede those in `waiting`.
    running: VecDeque<Decoding<K>>,
    /// Events of the last task that was read.
    decoded: vec::IntoIter<Event<K>>,
    /// The lines of the last task that had not begun.
    taken_back: Batch,
    end: Option<End>,
}

/// Its objects are never pinned.
impl<K> Unpin for AheadStream<K> {}

/// How the lines have ended.
#[derive(Debug)]
enum End {
    /// Without a line feed it may be incomplete, and then it is ignored.
    Line(Bytes),
    Failed(Error),
    Reported,
}

#[derive(Debug, Default)]
struct Batch {
    lines: VecDeque<Bytes>,
    bytes: usize,
}

impl Batch {
    fn push(&mut self, line: Bytes) {
        self.bytes += line.len();
        self.lines.push_back(line);
    }

    fn pop(&mut self) -> Option<Bytes> {
        let line = self.lines.pop_front()?;
        self.bytes -= line.len();
        Some(line)
    }

    fn is_full(&self) -> bool {
        self.bytes >= BATCH_BYTES || self.lines.len() >= BATCH_LINES
    }
}

/// A task that decodes a batch. It ends after the current line once this is dropped.
#[derive(Debug)]
struct Decoding<K> {
    /// `None` once the task has begun.
    batch: Arc<Mutex<Option<Batch>>>,
    events: oneshot::Receiver<Vec<Event<K>>>,
}

impl<K: DeserializeOwned + Send + 'static> Decoding<K> {
    fn spawn(runtime: &Handle, batch: Batch, mut decoder: Decoder<K>) -> Self {
        let (sender, events) = oneshot::channel();
        let batch = Arc::new(Mutex::new(Some(batch)));
        let decoding = Self { batch: Arc::clone(&batch), events };
        runtime.spawn(async move {
            let Some(batch) = take(&batch) else { return };
            let mut events = Vec::with_capacity(batch.lines.len());
            for line in batch.lines {
                if sender.is_closed() {
                    return;
                }
                events.push(decoder.decode(&line));
            }
            // Fails if the stream was dropped.
            let _ = sender.send(events);
        });
        decoding
    }
}

fn take(batch: &Mutex<Option<Batch>>) -> Option<Batch> {
    batch.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// Decodes lines with the lengths of their arrays, so that objects have no spare capacity.
#[derive(Debug)]
struct Decoder<K> {
    prune: Prune,
    known: KnownObjects<K>,
    scanner: ValueScanner,
    room: HeapRoom,
}

impl<K: DeserializeOwned> Decoder<K> {
    fn new(prune: Prune, known: KnownObjects<K>) -> Self {
        Self { prune, known, scanner: ValueScanner::default(), room: HeapRoom::default() }
    }

    /// One for another task.
    fn another(&self) -> Self {
        Self::new(self.prune.clone(), self.known.clone())
    }

    fn decode(&mut self, line: &[u8]) -> Event<K> {
        if let Some(object) = self.known.find_added(line) {
            return Ok(WatchEvent::Added(DeserializeGuard(Ok(object))));
        }
        self.room.before(line.len());
        self.scanner.clear();
        self.scanner.end_of_value(line);
        decode_guarded(line, self.scanner.lengths(), &self.prune)
    }
}

impl<K: DeserializeOwned + Send + 'static> AheadStream<K> {
    pub(crate) fn new(body: Body, prune: &Prune) -> Self {
        Self {
            lines: EventLines::new(body),
            decoder: Decoder::new(prune.within_event(), KnownObjects::default()),
            runtime: Handle::try_current().ok().filter(has_threads),
            waiting: Batch::default(),
            running: VecDeque::new(),
            decoded: Vec::new().into_iter(),
            taken_back: Batch::default(),
            end: None,
        }
    }

    /// The same stream; objects of `known` are not decoded.
    pub(crate) fn with_known(mut self, known: KnownObjects<K>) -> Self {
        self.decoder.known = known;
        self
    }

    /// Reads what has been received, as far as there is room, and has it decoded where it is enough for a task.
    fn read_ahead(&mut self, cx: &mut Context<'_>) {
        while self.end.is_none() && self.running.len() < MAX_BATCHES {
            match self.lines.poll_next(cx) {
                Poll::Pending => return,
                Poll::Ready(Some(Ok(Line::Complete(line)))) => self.waiting.push(line),
                Poll::Ready(Some(Ok(Line::Last(line)))) => self.end = Some(End::Line(line)),
                Poll::Ready(Some(Err(err))) => self.end = Some(End::Failed(err)),
                Poll::Ready(None) => self.end = Some(End::Reported),
            }
            match &self.runtime {
                // Decoded before the next line is read.
                None => return,
                Some(runtime) if self.waiting.is_full() => {
                    let batch = std::mem::take(&mut self.waiting);
                    self.running.push_back(Decoding::spawn(runtime, batch, self.decoder.another()));
                }
                Some(_) => {}
            }
        }
    }
}

fn has_threads(runtime: &Handle) -> bool {
    runtime.runtime_flavor() != RuntimeFlavor::CurrentThread && runtime.metrics().num_workers() > 1
}

impl<K: DeserializeOwned + Send + 'static> Stream for AheadStream<K> {
    type Item = Event<K>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Event<K>>> {
        let this = &mut *self;
        loop {
            if let Some(event) = this.decoded.next() {
                return Poll::Ready(Some(event));
            }
            if let Some(line) = this.taken_back.pop() {
                return Poll::Ready(Some(this.decoder.decode(&line)));
            }
            this.read_ahead(cx);
            if let Some(oldest) = this.running.front_mut() {
                if let Some(batch) = take(&oldest.batch) {
                    this.taken_back = batch;
                    this.running.pop_front();
                    continue;
                }
                let decoded = ready!(oldest.events.poll_unpin(cx));
                this.running.pop_front();
                match decoded {
                    Ok(events) => this.decoded = events.into_iter(),
                    Err(_) => return Poll::Ready(Some(Err(this.runtime_ended()))),
                }
                continue;
            }
            if let Some(line) = this.waiting.pop() {
                return Poll::Ready(Some(this.decoder.decode(&line)));
            }
            return match this.end.replace(End::Reported) {
                None => {
                    this.end = None;
                    Poll::Pending
                }
                Some(End::Line(line)) => Poll::Ready(this.decoder.decode(&line).ok().map(Ok)),
                Some(End::Failed(err)) => Poll::Ready(Some(Err(err))),
                Some(End::Reported) => Poll::Ready(None),
            };
        }
    }
}

impl<K> AheadStream<K> {
    /// Ends the stream: lines were lost with the tasks that decoded them.
    fn runtime_ended(&mut self) -> Error {
        self.running.clear();
        self.waiting = Batch::default();
        self.lines = EventLines::new(Body::empty());
        self.end = Some(End::Reported);
        Error::ReadEvents(io::Error::other("the runtime shut down while it decoded events"))
    }
}

#[cfg(test)]
#[path = "ahead_tests.rs"]
mod tests;
