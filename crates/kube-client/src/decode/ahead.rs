//! The body of a watch as a stream of events, of which several are decoded at the same time.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures::Stream;
use kube_core::{DeserializeGuard, WatchEvent};
use serde::de::DeserializeOwned;

use super::array_lengths::ValueScanner;
use super::batches::{Batches, Decode, DecodeBy, TaskLost, Text};
use super::event_lines::{EventLines, Line};
use super::events::decode_guarded;
use super::heap_room::HeapRoom;
use super::known::KnownObjects;
use super::prune::Prune;
use crate::body::Body;
use crate::error::{ErasedError, Error};

type Event<K> = Result<WatchEvent<DeserializeGuard<K>>, ErasedError>;

/// The events of a watch, in order, as with [`EventStream::guarded`](super::EventStream::guarded).
///
/// Lines that are received faster than they are read, as in a streaming list, are decoded by tasks of the runtime and by the reader. A
/// line that arrives alone is decoded by the reader, without a task.
#[derive(Debug)]
pub(crate) struct AheadStream<K: DeserializeOwned + Send + 'static> {
    lines: EventLines,
    events: Batches<LineDecoder<K>>,
    end: Option<End>,
}

/// Its objects are never pinned.
impl<K: DeserializeOwned + Send + 'static> Unpin for AheadStream<K> {}

/// How the lines have ended.
#[derive(Debug)]
enum End {
    /// Without a line feed it may be incomplete, and then it is ignored.
    Line(Bytes),
    Failed(ErasedError),
    Reported,
}

impl Text for Bytes {
    fn len(&self) -> usize {
        self.len()
    }
}

/// Decodes lines with the lengths of their arrays, so that objects have no spare capacity.
struct LineDecoder<K> {
    prune: Prune,
    known: KnownObjects<K>,
    scanner: ValueScanner,
    room: HeapRoom,
}

impl<K> LineDecoder<K> {
    fn new(prune: Prune, known: KnownObjects<K>) -> Self {
        Self { prune, known, scanner: ValueScanner::default(), room: HeapRoom::default() }
    }
}

impl<K: DeserializeOwned + Send + 'static> Decode for LineDecoder<K> {
    type Text = Bytes;
    type Value = Event<K>;

    fn another(&self) -> Self {
        Self::new(self.prune.clone(), self.known.clone())
    }

    fn decode(&mut self, line: &Bytes) -> Event<K> {
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
    /// Objects of `known` are not decoded.
    pub(crate) fn new(body: Body, prune: &Prune, known: KnownObjects<K>, by: DecodeBy) -> Self {
        Self {
            lines: EventLines::new(body),
            events: Batches::new(LineDecoder::new(prune.within_event(), known), by),
            end: None,
        }
    }

    /// Reads what has been received, as far as there is room.
    fn read_ahead(&mut self, cx: &mut Context<'_>) {
        while self.end.is_none() && self.events.have_room() {
            match self.lines.poll_next(cx) {
                Poll::Pending => return,
                Poll::Ready(Some(Ok(Line::Complete(line)))) => self.events.push(line),
                Poll::Ready(Some(Ok(Line::Last(line)))) => self.end = Some(End::Line(line)),
                Poll::Ready(Some(Err(err))) => self.end = Some(End::Failed(err)),
                Poll::Ready(None) => self.end = Some(End::Reported),
            }
        }
    }
}

impl<K: DeserializeOwned + Send + 'static> Stream for AheadStream<K> {
    type Item = Event<K>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Event<K>>> {
        let this = &mut *self;
        if let Some(event) = this.events.next_decoded() {
            return Poll::Ready(Some(event));
        }
        this.read_ahead(cx);
        match ready!(this.events.poll_next(cx)) {
            Some(Ok(event)) => return Poll::Ready(Some(event)),
            Some(Err(TaskLost)) => {
                this.lines = EventLines::new(Body::empty());
                this.end = Some(End::Reported);
                let ended = io::Error::other("a task that decoded events ended early");
                return Poll::Ready(Some(Err(Error::ReadEvents(ended).into())));
            }
            None => {}
        }
        match this.end.replace(End::Reported) {
            None => {
                this.end = None;
                Poll::Pending
            }
            Some(End::Line(line)) => Poll::Ready(this.events.decoder().decode(&line).ok().map(Ok)),
            Some(End::Failed(err)) => Poll::Ready(Some(Err(err))),
            Some(End::Reported) => Poll::Ready(None),
        }
    }
}

#[cfg(test)]
#[path = "ahead_tests.rs"]
mod tests;
