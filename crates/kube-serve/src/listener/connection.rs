//! Serves one connection until its end or the drain.

use std::{fmt, net::SocketAddr, pin::pin, time::Duration};

use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::conn::auto,
    service::TowerToHyperService,
};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    service::{BoxError, HttpService},
    tls::TlsSettings,
};
use crate::log_limit::LogLimit;

/// How long a peer may take for its TLS handshake, or to answer a ping.
const PEER_TIMEOUT: Duration = Duration::from_secs(10);
/// HTTP/1.1: how long a connection waits for the next request head. Longer than clients keep idle connections, so
/// that no connection is closed while a request is in flight.
const IDLE_TIMEOUT: Duration = Duration::from_secs(120);
/// HTTP/2: the interval of pings to an idle peer. Without a pong within [`PEER_TIMEOUT`] the connection is closed.
const PING_EVERY: Duration = Duration::from_secs(30);

/// HTTP/2: the maximum size of a request head, as in Go: selectors in a query can be long.
const MAX_HEADER_LIST_SIZE: u32 = 1 << 20;

/// Spawns tasks that end with the listener: tracked, and cancelled by a token.
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
/// HTTP/2: `streams` is the maximum number of concurrent requests.
pub(super) async fn run<I, S>(io: I, service: S, streams: u32, tracked: Tracked, drain: CancellationToken)
where
    I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    S: HttpService,
{
    let mut builder = auto::Builder::new(tracked);
    builder.http1().timer(TokioTimer::new()).header_read_timeout(IDLE_TIMEOUT);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(PING_EVERY)
        .keep_alive_timeout(PEER_TIMEOUT)
        .max_header_list_size(MAX_HEADER_LIST_SIZE)
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

/// A TLS handshake with a time limit; `None` if it fails, after a log line that `log` may leave out.
pub(super) async fn handshake(
    tls: &TlsSettings,
    tcp: tokio::net::TcpStream,
    peer: SocketAddr,
    log: &LogLimit,
) -> Option<tokio_rustls::server::TlsStream<tokio::net::TcpStream>> {
    let acceptor = tokio_rustls::TlsAcceptor::from(tls.current());
    match tokio::time::timeout(PEER_TIMEOUT, acceptor.accept(tcp)).await {
        Ok(Ok(stream)) => Some(stream),
        Ok(Err(error)) => {
            log_failure(peer, &error, log);
            None
        }
        Err(_) => {
            log_failure(peer, &format_args!("it took longer than {PEER_TIMEOUT:?}"), log);
            None
        }
    }
}

/// A peer that refuses the certificate is told from others by the text of the error, such as `received fatal alert: BadCertificate`.
fn log_failure(peer: SocketAddr, reason: &dyn fmt::Display, log: &LogLimit) {
    if let Some(left_out) = log.permit() {
        tracing::info!(%peer, %reason, left_out, "a TLS handshake failed");
    }
}

fn log_end(error: &BoxError) {
    tracing::debug!(%error, "connection ended with an error");
}
