use std::{pin::pin, time::Duration};

use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::conn::auto,
    service::TowerToHyperService,
};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{BoxError, serve::HttpService};

/// How long a peer may take for its TLS handshake, or to answer a ping.
const PATIENCE: Duration = Duration::from_secs(10);
/// HTTP/1.1: how long a connection waits for the head of its first or next request. Longer than clients keep idle
/// connections, so that it is not closed under a request that is on its way.
const IDLE: Duration = Duration::from_secs(120);
/// HTTP/2: an idle peer is asked for a sign of life this often, and is gone without an answer in [`PATIENCE`].
const PING_EVERY: Duration = Duration::from_secs(30);

/// HTTP/2: how large the head of a request may be. As Go's servers have it: selectors in a query can be long.
const HEADERS: u32 = 1 << 20;

/// Runs tasks that all end with the listener: counted by a tracker, cut by a token.
#[derive(Clone, Debug)]
pub(super) struct Tracked {
    pub(super) tasks: TaskTracker,
    pub(super) cut: CancellationToken,
}

impl<F> hyper::rt::Executor<F> for Tracked
where
    F: Future + Send + 'static,
    F::Output: Send,
{
    fn execute(&self, future: F) {
        let cut = self.cut.clone();
        self.tasks.spawn(async move { cut.run_until_cancelled_owned(future).await });
    }
}

/// Serves one connection until the peer closes it or, after `drain`, its running requests have ended.
///
/// HTTP/2: the peer may have `streams` requests under way at once.
pub(super) async fn run<I, S>(io: I, service: S, streams: u32, tracked: Tracked, drain: CancellationToken)
where
    I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    S: HttpService,
{
    let mut builder = auto::Builder::new(tracked);
    builder.http1().timer(TokioTimer::new()).header_read_timeout(IDLE);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(PING_EVERY)
        .keep_alive_timeout(PATIENCE)
        .max_header_list_size(HEADERS)
        .max_concurrent_streams(streams);
    let connection =
        builder.serve_connection_with_upgrades(TokioIo::new(io), TowerToHyperService::new(service));
    let mut connection = pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = drain.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        log_end(&error);
    }
}

/// A TLS handshake with a time limit; `None` (after a log line) when the peer did not complete it.
pub(super) async fn handshake(
    tls: &super::TlsSettings,
    tcp: tokio::net::TcpStream,
) -> Option<tokio_rustls::server::TlsStream<tokio::net::TcpStream>> {
    let acceptor = tokio_rustls::TlsAcceptor::from(tls.current());
    match tokio::time::timeout(PATIENCE, acceptor.accept(tcp)).await {
        Ok(Ok(stream)) => Some(stream),
        Ok(Err(error)) => {
            tracing::debug!(%error, "TLS handshake failed");
            None
        }
        Err(_) => {
            tracing::debug!("TLS handshake took longer than {PATIENCE:?}");
            None
        }
    }
}

fn log_end(error: &BoxError) {
    tracing::debug!(%error, "connection ended with an error");
}
