//! A connection on which silence is an error, if so wished.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{Connected, Connection};
use tokio::time::{Instant, Sleep};

use super::connector::Limits;
use crate::config::MAX_DELAY;

/// A connection with limits on how long a read and a write may make no progress.
#[derive(Debug)]
pub(crate) struct DeadlineIo<T> {
    inner: T,
    read: Deadline,
    write: Deadline,
    write_resets_read: bool,
}

impl<T> DeadlineIo<T> {
    pub(super) fn new(inner: T, limits: Limits) -> Self {
        Self {
            inner,
            read: Deadline::new(limits.read),
            write: Deadline::new(limits.write),
            write_resets_read: limits.write_resets_read,
        }
    }
}

/// A limit, and the time since when nothing has moved.
#[derive(Debug)]
struct Deadline {
    limit: Option<Duration>,
    running: Option<Pin<Box<Sleep>>>,
}

impl Deadline {
    fn new(limit: Option<Duration>) -> Self {
        Self { limit: limit.map(|limit| limit.min(MAX_DELAY)), running: None }
    }

    /// Passes on what an attempt gave. Where it has to wait, the time runs, and its end is an error.
    fn watch<R>(
        &mut self,
        cx: &mut Context<'_>,
        attempt: Poll<io::Result<R>>,
        what: &str,
    ) -> Poll<io::Result<R>> {
        let Some(limit) = self.limit else { return attempt };
        if attempt.is_ready() {
            self.running = None;
            return attempt;
        }
        let running = self.running.get_or_insert_with(|| Box::pin(tokio::time::sleep(limit)));
        if running.as_mut().poll(cx).is_pending() {
            return Poll::Pending;
        }
        self.running = None;
        let text = format!("{what} made no progress for {limit:?}");
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, text)))
    }

    fn restart(&mut self) {
        if let (Some(limit), Some(running)) = (self.limit, &mut self.running) {
            running.as_mut().reset(Instant::now() + limit);
        }
    }
}

impl<T: Read + Unpin> Read for DeadlineIo<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let attempt = Pin::new(&mut self.inner).poll_read(cx, buf);
        self.read.watch(cx, attempt, "reading")
    }
}

impl<T: Write + Unpin> DeadlineIo<T> {
    fn written<R>(&mut self, cx: &mut Context<'_>, attempt: Poll<io::Result<R>>) -> Poll<io::Result<R>> {
        if self.write_resets_read && attempt.is_ready() {
            self.read.restart();
        }
        self.write.watch(cx, attempt, "writing")
    }
}

impl<T: Write + Unpin> Write for DeadlineIo<T> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let attempt = Pin::new(&mut self.inner).poll_write(cx, buf);
        self.written(cx, attempt)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let attempt = Pin::new(&mut self.inner).poll_flush(cx);
        self.written(cx, attempt)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let attempt = Pin::new(&mut self.inner).poll_shutdown(cx);
        self.written(cx, attempt)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let attempt = Pin::new(&mut self.inner).poll_write_vectored(cx, bufs);
        self.written(cx, attempt)
    }
}

impl<T: Connection> Connection for DeadlineIo<T> {
    fn connected(&self) -> Connected {
        self.inner.connected()
    }
}

#[cfg(test)]
mod tests {
    use hyper_util::rt::TokioIo;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    fn pair(
        limits: Limits,
    ) -> (TokioIo<DeadlineIo<TokioIo<tokio::io::DuplexStream>>>, tokio::io::DuplexStream) {
        let (near, far) = tokio::io::duplex(4);
        (TokioIo::new(DeadlineIo::new(TokioIo::new(near), limits)), far)
    }

    const LIMIT: Duration = Duration::from_secs(5);

    #[tokio::test(start_paused = true)]
    async fn silence_is_an_error_and_progress_starts_the_time_anew() {
        let (mut near, mut far) = pair(Limits { read: Some(LIMIT), ..Limits::default() });
        let started = Instant::now();
        let writer = tokio::spawn(async move {
            tokio::time::sleep(Duration::from_secs(4)).await;
            far.write_all(b"a").await.unwrap();
            std::future::pending::<()>().await;
        });
        assert_eq!(near.read_u8().await.unwrap(), b'a');
        assert_eq!(near.read_u8().await.unwrap_err().kind(), io::ErrorKind::TimedOut);
        assert_eq!(started.elapsed(), Duration::from_secs(9));
        writer.abort();
    }

    #[tokio::test(start_paused = true)]
    async fn a_stuck_write_is_an_error() {
        let (mut near, _far) = pair(Limits { write: Some(LIMIT), ..Limits::default() });
        let err = near.write_all(b"more than four").await.unwrap_err();
        assert_eq!(err.to_string(), "writing made no progress for 5s");
    }

    #[tokio::test(start_paused = true)]
    async fn a_write_gives_the_reader_more_time_if_so_wished() {
        for (reset, expected) in [(false, 5), (true, 8)] {
            let limits = Limits { read: Some(LIMIT), write_resets_read: reset, ..Limits::default() };
            let (near, _far) = pair(limits);
            let (mut reader, mut writer) = tokio::io::split(near);
            let started = Instant::now();
            let reading = tokio::spawn(async move { reader.read_u8().await });
            tokio::time::sleep(Duration::from_secs(3)).await;
            writer.write_all(b"a").await.unwrap();
            assert!(reading.await.unwrap().is_err());
            assert_eq!(started.elapsed().as_secs(), expected);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_limit_may_be_without_end() {
        let max = Some(Duration::MAX);
        let (near, _far) =
            pair(Limits { read: max, write: max, write_resets_read: true, ..Limits::default() });
        let (mut reader, mut writer) = tokio::io::split(near);
        let reading = tokio::spawn(async move { reader.read_u8().await });
        tokio::time::sleep(Duration::from_secs(1)).await;
        writer.write_all(b"a").await.unwrap();
        let quiet = tokio::time::timeout(Duration::from_secs(100_000), reading).await;
        assert!(quiet.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn without_limits_silence_is_fine() {
        let (mut near, far) = pair(Limits::default());
        let quiet = tokio::time::timeout(Duration::from_secs(100_000), near.read_u8()).await;
        assert!(quiet.is_err());
        drop(far);
    }
}
