//! Pauses reading from a connection whose responses are read more slowly than they arrive.
//!
//! Without a pause, each TLS record (16 KiB) wakes the connection's task, although the reader of the response still has data. With
//! it, the task wakes once for some hundred KiB. HTTP/1.1 connections need none: they read the next data when the last was taken.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures::FutureExt;
use futures::task::AtomicWaker;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

use super::slots::StreamSlots;

/// Reading pauses when as many bytes are unread. More than the largest frame, because a reader gets whole frames.
const PAUSE_AT: usize = 512 << 10;
/// Reading resumes when as few bytes of the stream that was read last are unread: the reader has work until more arrive.
const RESUME_AT: usize = 128 << 10;
/// The longest pause. It delays pings, and responses to other readers of the connection.
const MAX_PAUSE: Duration = Duration::from_millis(5);

/// How far a connection is ahead of the readers of its responses. An estimate: it counts the bytes that arrived since a reader took
/// some, and what this reader left.
#[derive(Debug, Default)]
pub(super) struct ReadAhead {
    unread: AtomicUsize,
    paused: AtomicWaker,
}

impl ReadAhead {
    fn received(&self, bytes: usize) {
        self.unread.fetch_add(bytes, Ordering::Relaxed);
    }

    /// A reader has taken data. `unread` bytes of its stream are left.
    pub(super) fn taken(&self, unread: usize) {
        self.unread.store(unread, Ordering::Relaxed);
        if unread <= RESUME_AT {
            self.paused.wake();
        }
    }

    fn is_far(&self) -> bool {
        self.unread.load(Ordering::Relaxed) >= PAUSE_AT
    }
}

/// The I/O of a connection. Reads are pending during a pause; writes never are.
pub(super) struct PausingIo<T> {
    io: T,
    slots: Arc<StreamSlots>,
    pause: Pin<Box<Sleep>>,
    paused: bool,
}

impl<T> PausingIo<T> {
    pub(super) fn new(io: T, slots: Arc<StreamSlots>) -> Self {
        Self { io, slots, pause: Box::pin(sleep(Duration::ZERO)), paused: false }
    }

    /// A request whose response has not begun prevents a pause.
    fn is_ahead(&self) -> bool {
        self.slots.read_ahead().is_far() && self.slots.unanswered() == 0
    }

    fn poll_pause(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if !self.is_ahead() {
            self.paused = false;
            return Poll::Ready(());
        }
        if !self.paused {
            self.paused = true;
            self.pause.as_mut().reset(Instant::now() + MAX_PAUSE);
        }
        self.slots.read_ahead().paused.register(cx.waker());
        // A reader may have taken data before its wake-up was registered.
        if self.is_ahead() {
            ready!(self.pause.poll_unpin(cx));
            self.slots.read_ahead().taken(0);
        }
        self.paused = false;
        Poll::Ready(())
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for PausingIo<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        ready!(self.poll_pause(cx));
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.io).poll_read(cx, buf))?;
        self.slots.read_ahead().received(buf.filled().len() - before);
        Poll::Ready(Ok(()))
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for PausingIo<T> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
    use tokio_test::task;

    use super::*;
    use crate::transport::http2::{MAX_STREAMS, Slot};

    /// A connection on which a response has begun, and what its server can still send.
    fn with_response() -> (PausingIo<DuplexStream>, DuplexStream, Slot) {
        let slots = Arc::new(StreamSlots::new(MAX_STREAMS));
        let mut slot = slots.try_acquire().unwrap();
        slot.answered();
        let (near, far) = duplex(4 * PAUSE_AT);
        (PausingIo::new(near, slots), far, slot)
    }

    /// The bytes that can be read without waiting.
    async fn readable(io: &mut PausingIo<DuplexStream>) -> usize {
        let (mut all, mut buffer) = (0, vec![0; 16 << 10]);
        while let Poll::Ready(read) = futures::poll!(Box::pin(io.read(&mut buffer))) {
            all += read.unwrap();
        }
        all
    }

    #[tokio::test(start_paused = true)]
    async fn reading_pauses_far_ahead_of_the_reader_and_resumes_when_it_has_caught_up() {
        let (mut io, mut far, slot) = with_response();
        far.write_all(&vec![0; 3 * PAUSE_AT]).await.unwrap();
        assert_eq!(readable(&mut io).await, PAUSE_AT);
        let mut byte = [0];
        let mut reading = task::spawn(io.read(&mut byte));
        assert!(reading.poll().is_pending());
        slot.connection().read_ahead().taken(RESUME_AT + 1);
        assert!(!reading.is_woken(), "the reader still has data");
        slot.connection().read_ahead().taken(RESUME_AT);
        assert!(reading.is_woken());
        assert!(reading.poll().is_ready());
        drop(reading);
        assert_eq!(readable(&mut io).await, PAUSE_AT - RESUME_AT);
    }

    #[tokio::test(start_paused = true)]
    async fn a_pause_is_short_if_nobody_reads() {
        let (mut io, mut far, _slot) = with_response();
        far.write_all(&vec![0; 3 * PAUSE_AT]).await.unwrap();
        let start = Instant::now();
        let (mut read, mut buffer) = (0, vec![0; 16 << 10]);
        while read < 3 * PAUSE_AT {
            read += io.read(&mut buffer).await.unwrap();
        }
        assert_eq!(start.elapsed(), 2 * MAX_PAUSE);
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_without_a_response_ends_the_pause_and_prevents_others() {
        let (mut io, mut far, _slot) = with_response();
        far.write_all(&vec![0; 3 * PAUSE_AT]).await.unwrap();
        assert_eq!(readable(&mut io).await, PAUSE_AT);
        let mut request = io.slots.try_acquire().unwrap();
        assert_eq!(readable(&mut io).await, 2 * PAUSE_AT);
        request.answered();
        far.write_all(b"more").await.unwrap();
        assert_eq!(readable(&mut io).await, 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_pause_does_not_delay_writes() {
        let (mut io, mut far, _slot) = with_response();
        far.write_all(&vec![0; PAUSE_AT + 1]).await.unwrap();
        assert_eq!(readable(&mut io).await, PAUSE_AT);
        io.write_all(b"ping").await.unwrap();
        let mut received = [0; 4];
        far.read_exact(&mut received).await.unwrap();
        assert_eq!(&received, b"ping");
    }
}
