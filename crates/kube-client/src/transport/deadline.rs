//! Timeouts for connecting, reading and writing, around any connector.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{Connected, Connection};
use tokio::time::{Instant, Sleep};
use tower::BoxError;
use tower_service::Service;

use super::boxed::{BoxConnector, BoxIo};
use crate::config::MAX_DELAY;
use crate::config::{Config, host_of};

/// The connector that a [`Transport`](super::Transport) uses.
pub(super) type ServerConnector = DeadlineConnector<BoxConnector>;
/// A connection that it makes.
pub(super) type ServerIo = DeadlineIo<BoxIo>;

/// Limits the time of connecting (handshakes included), and of reads and writes that make no progress afterwards.
#[derive(Clone, Debug)]
pub(crate) struct DeadlineConnector<C> {
    inner: C,
    timeouts: Timeouts,
}

/// `None` is no limit.
#[derive(Clone, Copy, Debug, Default)]
struct Timeouts {
    connect: Option<Duration>,
    read: Option<Duration>,
    write: Option<Duration>,
    write_resets_read: bool,
}

impl<C> DeadlineConnector<C> {
    /// Applies the timeouts of `config` to the connections of `inner`.
    pub(crate) fn new(config: &Config, inner: C) -> Self {
        let timeouts = Timeouts {
            connect: config.connect_timeout,
            read: config.read_timeout,
            write: config.write_timeout,
            write_resets_read: config.reset_reader_on_write,
        };
        Self { inner, timeouts }
    }
}

impl<C> Service<Uri> for DeadlineConnector<C>
where
    C: Service<Uri>,
    C::Error: Into<BoxError>,
    C::Future: Send + 'static,
{
    type Response = DeadlineIo<C::Response>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, target: Uri) -> Self::Future {
        let timeouts = self.timeouts;
        let host = host_of(&target);
        let connecting = self.inner.call(target);
        Box::pin(async move {
            let connected = match timeouts.connect {
                Some(limit) => tokio::time::timeout(limit, connecting)
                    .await
                    .map_err(|_| HostError::TimedOut { host: host.clone(), limit })?,
                None => connecting.await,
            };
            let io = connected.map_err(|err| HostError::Failed { host, cause: err.into() })?;
            Ok(DeadlineIo::new(io, timeouts))
        })
    }
}

/// Why there is no connection to `host`.
#[derive(Debug, thiserror::Error)]
enum HostError {
    #[error("connecting to {host} took longer than {limit:?}")]
    TimedOut { host: String, limit: Duration },
    #[error("cannot connect to {host}")]
    Failed {
        host: String,
        #[source]
        cause: BoxError,
    },
}

/// A connection whose reads and writes fail after a time without progress.
#[derive(Debug)]
pub(crate) struct DeadlineIo<T> {
    inner: T,
    read: StallTimer,
    write: StallTimer,
    write_resets_read: bool,
    /// Something was written since the last read.
    written: bool,
}

impl<T> DeadlineIo<T> {
    fn new(inner: T, timeouts: Timeouts) -> Self {
        Self {
            inner,
            read: StallTimer::new(timeouts.read),
            write: StallTimer::new(timeouts.write),
            write_resets_read: timeouts.write_resets_read,
            written: false,
        }
    }
}

/// A timeout that runs while an operation is pending.
#[derive(Debug)]
struct StallTimer {
    limit: Option<Duration>,
    sleep: Option<Pin<Box<Sleep>>>,
}

impl StallTimer {
    fn new(limit: Option<Duration>) -> Self {
        Self { limit: limit.map(|limit| limit.min(MAX_DELAY)), sleep: None }
    }

    /// Returns `attempt`. While it is pending the timer runs, and its end is an error.
    fn check<R>(
        &mut self,
        cx: &mut Context<'_>,
        attempt: Poll<io::Result<R>>,
        what: &str,
    ) -> Poll<io::Result<R>> {
        let Some(limit) = self.limit else { return attempt };
        if attempt.is_ready() {
            self.sleep = None;
            return attempt;
        }
        let sleep = self.sleep.get_or_insert_with(|| Box::pin(tokio::time::sleep(limit)));
        if sleep.as_mut().poll(cx).is_pending() {
            return Poll::Pending;
        }
        self.sleep = None;
        let text = format!("{what} made no progress for {limit:?}");
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, text)))
    }

    fn restart(&mut self) {
        if let (Some(limit), Some(sleep)) = (self.limit, &mut self.sleep) {
            sleep.as_mut().reset(Instant::now() + limit);
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
        if attempt.is_ready() {
            self.written = false;
        }
        self.read.check(cx, attempt, "reading")
    }
}

impl<T: Write + Unpin> DeadlineIo<T> {
    /// The first write after a read begins a request: the silence before it is that of an idle connection.
    fn check_write<R>(&mut self, cx: &mut Context<'_>, attempt: Poll<io::Result<R>>) -> Poll<io::Result<R>> {
        if attempt.is_ready() && (self.write_resets_read || !self.written) {
            self.read.restart();
        }
        self.written |= attempt.is_ready();
        self.write.check(cx, attempt, "writing")
    }
}

impl<T: Write + Unpin> Write for DeadlineIo<T> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let attempt = Pin::new(&mut self.inner).poll_write(cx, buf);
        self.check_write(cx, attempt)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let attempt = Pin::new(&mut self.inner).poll_flush(cx);
        self.write.check(cx, attempt, "writing")
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let attempt = Pin::new(&mut self.inner).poll_shutdown(cx);
        self.write.check(cx, attempt, "writing")
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
        self.check_write(cx, attempt)
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
    use tower::{ServiceExt, service_fn};

    use super::*;

    fn pair(
        timeouts: Timeouts,
    ) -> (TokioIo<DeadlineIo<TokioIo<tokio::io::DuplexStream>>>, tokio::io::DuplexStream) {
        let (near, far) = tokio::io::duplex(4);
        (TokioIo::new(DeadlineIo::new(TokioIo::new(near), timeouts)), far)
    }

    const LIMIT: Duration = Duration::from_secs(5);

    #[tokio::test(start_paused = true)]
    async fn silence_is_an_error_and_progress_starts_the_time_anew() {
        let (mut near, mut far) = pair(Timeouts { read: Some(LIMIT), ..Timeouts::default() });
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
        let (mut near, _far) = pair(Timeouts { write: Some(LIMIT), ..Timeouts::default() });
        let err = near.write_all(b"more than four").await.unwrap_err();
        assert_eq!(err.to_string(), "writing made no progress for 5s");
    }

    #[tokio::test(start_paused = true)]
    async fn a_write_gives_the_reader_more_time_if_so_wished() {
        for (reset, expected) in [(false, 5), (true, 8)] {
            let timeouts = Timeouts { read: Some(LIMIT), write_resets_read: reset, ..Timeouts::default() };
            let (near, _far) = pair(timeouts);
            let (mut reader, mut writer) = tokio::io::split(near);
            let started = Instant::now();
            writer.write_all(b"a").await.unwrap();
            let reading = tokio::spawn(async move { reader.read_u8().await });
            tokio::time::sleep(Duration::from_secs(3)).await;
            writer.write_all(b"a").await.unwrap();
            assert!(reading.await.unwrap().is_err());
            assert_eq!(started.elapsed().as_secs(), expected);
        }
    }

    /// As a connection that is idle until a request is written.
    #[tokio::test(start_paused = true)]
    async fn the_time_before_a_request_does_not_count() {
        let (near, mut far) = pair(Timeouts { read: Some(LIMIT), ..Timeouts::default() });
        let (mut reader, mut writer) = tokio::io::split(near);
        let started = Instant::now();
        let reading = tokio::spawn(async move { reader.read_u8().await });
        for second in [4, 8] {
            tokio::time::sleep_until(started + Duration::from_secs(second)).await;
            writer.write_all(b"a").await.unwrap();
        }
        // Nothing was received for 5 s after the first of them, which was sent after 4 s of idleness.
        assert_eq!(reading.await.unwrap().unwrap_err().kind(), io::ErrorKind::TimedOut);
        assert_eq!(started.elapsed().as_secs(), 9);
        far.read_u8().await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_limit_may_be_without_end() {
        let max = Some(Duration::MAX);
        let (near, _far) =
            pair(Timeouts { read: max, write: max, write_resets_read: true, ..Timeouts::default() });
        let (mut reader, mut writer) = tokio::io::split(near);
        let reading = tokio::spawn(async move { reader.read_u8().await });
        tokio::time::sleep(Duration::from_secs(1)).await;
        writer.write_all(b"a").await.unwrap();
        let quiet = tokio::time::timeout(Duration::from_secs(100_000), reading).await;
        assert!(quiet.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn without_limits_silence_is_fine() {
        let (mut near, far) = pair(Timeouts::default());
        let quiet = tokio::time::timeout(Duration::from_secs(100_000), near.read_u8()).await;
        assert!(quiet.is_err());
        drop(far);
    }

    #[tokio::test(start_paused = true)]
    async fn connecting_for_ever_is_an_error_that_names_the_host() {
        let never = service_fn(|_: Uri| std::future::pending::<Result<(), BoxError>>());
        let config = Config::new(Uri::from_static("https://h:1"));
        let connector = DeadlineConnector::new(&config, never);
        let started = tokio::time::Instant::now();
        let err = connector.oneshot(Uri::from_static("https://h:1/api")).await.err().unwrap();
        assert_eq!(started.elapsed(), Duration::from_secs(30));
        assert_eq!(err.to_string(), "connecting to h:1 took longer than 30s");
    }
}
