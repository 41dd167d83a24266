//! [`ParallelEvents`]: the events of a watch, several of them decoded at the same time.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::vec;

use bytes::Bytes;
use futures::Stream;
use kube_core::{DeserializeGuard, WatchEvent};
use serde::de::DeserializeOwned;

use super::event_lines::{EventLines, Line};
use super::events::decode_guarded;
use super::known::{KnownObjects, object_of};
use super::ordered_map::{Batch, Decode, DecodeBy, OrderedMap};
use super::read::{HeapReserve, Prune};
use super::split::ValueScanner;
use crate::body::Body;
use crate::error::{ErasedError, Error};

type Event<K> = Result<WatchEvent<DeserializeGuard<K>>, ErasedError>;

/// The events of a watch, in order, as with [`EventStream::guarded`](super::EventStream::guarded).
///
/// Lines that are received faster than they are read, as in a streaming list, are decoded by tasks of the runtime and by the reader. A
/// line that arrives alone is decoded by the reader, without a task.
#[derive(Debug)]
pub(crate) struct ParallelEvents<K: DeserializeOwned + Send + 'static> {
    lines: EventLines,
    /// Lines that do not fill a batch yet.
    received: Batch<Bytes>,
    batches: OrderedMap<LineDecoder<K>>,
    /// The rest of the oldest batch.
    decoded: vec::IntoIter<Event<K>>,
    /// How the lines have ended.
    end: Option<End>,
}

/// Its objects are never pinned.
impl<K: DeserializeOwned + Send + 'static> Unpin for ParallelEvents<K> {}

#[derive(Debug)]
enum End {
    /// Without a line feed it may be incomplete, and then it is ignored.
    Line(Bytes),
    Failed(ErasedError),
    Reported,
}

impl<K: DeserializeOwned + Send + 'static> ParallelEvents<K> {
    /// Objects of `known` are not decoded.
    pub(crate) fn new(body: Body, prune: &Prune, known: KnownObjects<K>, by: DecodeBy) -> Self {
        let decoder = LineDecoder {
            prune: prune.within_event(),
            known,
            scanner: ValueScanner::default(),
            heap: HeapReserve::default(),
        };
        Self {
            lines: EventLines::new(body),
            received: Batch::default(),
            batches: OrderedMap::new(decoder, by),
            decoded: Vec::new().into_iter(),
            end: None,
        }
    }

    /// Reads what has been received, as far as there is room.
    fn read_ahead(&mut self, cx: &mut Context<'_>) {
        while self.end.is_none() && self.batches.has_room() {
            match self.lines.poll_next(cx) {
                Poll::Pending => break,
                Poll::Ready(Some(Ok(Line::Complete(line)))) => {
                    let bytes = line.len();
                    self.received.push(line, bytes);
                    if self.received.is_full() || !self.batches.has_tasks() {
                        self.batches.push(std::mem::take(&mut self.received));
                    }
                }
                Poll::Ready(Some(Ok(Line::Last(line)))) => self.end = Some(End::Line(line)),
                Poll::Ready(Some(Err(err))) => self.end = Some(End::Failed(err)),
                Poll::Ready(None) => self.end = Some(End::Reported),
            }
        }
        if self.batches.is_empty() && !self.received.is_empty() {
            self.batches.push(std::mem::take(&mut self.received));
        }
    }

    /// A task ended early: nothing more is read.
    fn abort(&mut self) -> ErasedError {
        self.lines = EventLines::new(Body::empty());
        self.received = Batch::default();
        self.end = Some(End::Reported);
        Error::ReadEvents(io::Error::other("a task that decoded events ended early")).into()
    }
}

impl<K: DeserializeOwned + Send + 'static> Stream for ParallelEvents<K> {
    type Item = Event<K>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Event<K>>> {
        let this = &mut *self;
        loop {
            if let Some(event) = this.decoded.next() {
                return Poll::Ready(Some(event));
            }
            this.read_ahead(cx);
            match ready!(this.batches.poll_next(cx)) {
                Some(Ok(events)) => this.decoded = events.into_iter(),
                Some(Err(_)) => return Poll::Ready(Some(Err(this.abort()))),
                None => break,
            }
        }
        match this.end.replace(End::Reported) {
            None => {
                this.end = None;
                Poll::Pending
            }
            Some(End::Line(line)) => Poll::Ready(this.batches.decoder().decode(&line).ok().map(Ok)),
            Some(End::Failed(err)) => Poll::Ready(Some(Err(err))),
            Some(End::Reported) => Poll::Ready(None),
        }
    }
}

/// Decodes lines with the lengths of their arrays, so that objects have no spare capacity.
struct LineDecoder<K> {
    prune: Prune,
    known: KnownObjects<K>,
    scanner: ValueScanner,
    heap: HeapReserve,
}

impl<K> LineDecoder<K> {
    /// Scans the line. Ends early, with the object, if that is known. Only additions that begin as servers send them are looked up.
    fn scan(&mut self, line: &[u8]) -> Option<K> {
        self.scanner.clear();
        let object = object_of(line).filter(|_| self.known.any() && line.starts_with(ADDED));
        let Some(object) = object else {
            self.scanner.end_of_value(&[], line);
            return None;
        };
        let mut is_looked_up = false;
        let mut start = 0;
        for part in object.chunks(SCANNED_AT_ONCE) {
            let ended = self.scanner.end_of_value(&object[..start], part).is_some();
            if !is_looked_up && self.scanner.is_past_metadata() {
                is_looked_up = true;
                let version = self.scanner.version(object);
                if let Some(known) = version.and_then(|version| self.known.find(&version, object)) {
                    return Some(known);
                }
            }
            if ended {
                break;
            }
            start += part.len();
        }
        None
    }
}

/// The begin of an addition.
const ADDED: &[u8] = br#"{"type":"ADDED""#;

/// How many bytes are scanned before it is seen whether the metadata have ended.
const SCANNED_AT_ONCE: usize = 1 << 10;

impl<K> Clone for LineDecoder<K> {
    fn clone(&self) -> Self {
        Self {
            prune: self.prune.clone(),
            known: self.known.clone(),
            scanner: ValueScanner::default(),
            heap: HeapReserve::default(),
        }
    }
}

impl<K: DeserializeOwned + Send + 'static> Decode for LineDecoder<K> {
    type Text = Bytes;
    type Value = Event<K>;

    fn decode(&mut self, line: &Bytes) -> Event<K> {
        let mut event = match self.scan(line) {
            Some(object) => WatchEvent::Added(DeserializeGuard(Ok(object))),
            None => {
                self.heap.reserve_for(line.len());
                decode_guarded(line, self.scanner.lengths(), &self.prune)?
            }
        };
        self.known.note_event(line, &mut event);
        Ok(event)
    }
}

#[cfg(test)]
#[path = "parallel_events_tests.rs"]
mod tests;
