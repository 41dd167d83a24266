//! The listener: accepts connections within limits and drains them at shutdown.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use hyper::rt::Executor;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    connection::{self, Tracked},
    peer::{PeerCertificates, WithPeer},
    service::HttpService,
    slots::Slots,
    tls::TlsSettings,
};
use crate::log_limit::LogLimit;

const DEFAULT_DRAIN: Duration = Duration::from_secs(10);
/// Many watches share one connection, so the limit is far above hyper's 200.
const DEFAULT_STREAMS: u32 = 4096;

/// Enough for the watches of a test server; each connection costs a descriptor and up to some 50 KiB.
const DEFAULT_CONNECTIONS: usize = 16_384;
/// Clients open connections beforehand, but not long before their first request.
const DEFAULT_FIRST_REQUEST: Duration = Duration::from_secs(30);

const MIN_BACKOFF: Duration = Duration::from_millis(5);
const MAX_BACKOFF: Duration = Duration::from_secs(1);

/// A bound socket, ready to [`serve`](Self::serve).
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use kube_serve::listener::Listener;
/// let listener = Listener::bind(([127, 0, 0, 1], 0).into()).await?;
/// println!("serving on http://{}", listener.local_addr());
/// let hello = tower::service_fn(async |_| Ok::<_, std::io::Error>(http::Response::new("hello".to_string())));
/// let stop = std::future::ready(()); // stops at once; a program waits for a signal here
/// let served = listener.serve(hello, stop).await;
/// assert!(served.drained);
/// # Ok::<_, std::io::Error>(()) }).unwrap();
/// ```
#[derive(Debug)]
pub struct Listener {
    tcp: TcpListener,
    local: SocketAddr,
    tls: Option<TlsSettings>,
    drain: Duration,
    streams: u32,
    connections: usize,
    first_request: Duration,
}

/// How [`Listener::serve`] ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served {
    /// Every running request ended by itself; `false` when the drain deadline cut some off.
    pub drained: bool,
}

impl Listener {
    /// Binds `addr`; port 0 takes a free one, see [`local_addr`](Self::local_addr).
    ///
    /// # Errors
    /// The operating system's reason: the port is taken, or needs privileges.
    pub async fn bind(addr: SocketAddr) -> io::Result<Self> {
        Self::from_tcp(TcpListener::bind(addr).await?)
    }

    /// Serves on a socket that is bound already, for example one handed over by a supervisor.
    ///
    /// # Errors
    /// When the socket has no local address.
    pub fn from_tcp(tcp: TcpListener) -> io::Result<Self> {
        let local = tcp.local_addr()?;
        Ok(Self {
            tcp,
            local,
            tls: None,
            drain: DEFAULT_DRAIN,
            streams: DEFAULT_STREAMS,
            connections: DEFAULT_CONNECTIONS,
            first_request: DEFAULT_FIRST_REQUEST,
        })
    }

    /// Speaks TLS on every connection. Without it, plain HTTP (HTTP/2 with prior knowledge included).
    #[must_use]
    pub fn tls(mut self, tls: TlsSettings) -> Self {
        self.tls = Some(tls);
        self
    }

    /// How long running requests may continue after shutdown; then their connections are closed. 10 s by default.
    #[must_use]
    pub fn drain_deadline(mut self, deadline: Duration) -> Self {
        self.drain = deadline;
        self
    }

    /// The maximum number of concurrent requests on one HTTP/2 connection; a client with more opens another
    /// connection or waits. At least 1; 4096 by default.
    #[must_use]
    pub fn max_concurrent_streams(mut self, streams: u32) -> Self {
        self.streams = streams.max(1);
        self
    }

    /// The maximum number of open connections. When all are taken, the next one takes the place of that which has been idle for longest:
    /// which has made no request, or none for 30 s, or whose peer has not read on in any of its responses for so long, however often it
    /// pings. If there is none, it waits. A response that waits for the service, such as a quiet watch, keeps its place. At least 1;
    /// 16 384 by default.
    #[must_use]
    pub fn max_connections(mut self, connections: usize) -> Self {
        self.connections = connections.max(1);
        self
    }

    /// How long a connection may take to its first request, over TLS after its handshake has begun; then it is closed. 30 s by default.
    #[must_use]
    pub fn first_request_timeout(mut self, limit: Duration) -> Self {
        self.first_request = limit;
        self
    }

    /// The bound address, with the actual port if 0 was requested.
    pub fn local_addr(&self) -> SocketAddr {
        self.local
    }

    /// Serves until `shutdown` is ready, then stops accepting, lets running requests finish, and closes the
    /// remaining connections at the drain deadline.
    ///
    /// When this returns, every task it started has ended. Dropping the future instead closes all connections at
    /// once. A service error closes only its own connection.
    pub async fn serve<S>(self, service: S, shutdown: impl Future<Output = ()>) -> Served
    where
        S: HttpService,
    {
        let Self { tcp, tls, drain: deadline, streams, connections, first_request, .. } = self;
        let mut slots = Slots::new(connections, first_request);
        let tracked = Tracked { tasks: TaskTracker::new(), cut: CancellationToken::new() };
        let drain = CancellationToken::new();
        let (refused, failed) = (LogLimit::new(), Arc::new(LogLimit::new()));
        // Dropping this future must end the connections too.
        let _cut_on_drop = tracked.cut.clone().drop_guard();

        let mut shutdown = std::pin::pin!(shutdown);
        loop {
            let (stream, peer) = tokio::select! {
                biased;
                () = shutdown.as_mut() => break,
                accepted = accept(&tcp, &refused) => accepted,
            };
            // After accepting: only then is a place needed, and a silent connection in the way.
            let slot = tokio::select! {
                biased;
                () = shutdown.as_mut() => break,
                slot = slots.take() => slot,
            };
            tracing::trace!(%peer, "connection accepted");
            // Small writes (watch events) must not wait for acknowledgements of earlier ones.
            if let Err(error) = stream.set_nodelay(true) {
                tracing::debug!(%error, "TCP_NODELAY could not be set");
            }
            let tls = tls.clone().map(|settings| Handshake { settings, peer, log: Arc::clone(&failed) });
            let (service, running, drain) = (service.clone(), tracked.clone(), drain.clone());
            let service = slot.notice(service);
            let connection = async move {
                let served = serve_one(stream, tls, service, streams, running, drain);
                tokio::select! {
                    () = served => {}
                    () = slot.given_up() => tracing::debug!(%peer, "closed an idle connection"),
                }
            };
            tracked.execute(connection);
        }
        drop(tcp);
        drain.cancel();
        tracked.tasks.close();
        let drained = tokio::time::timeout(deadline, tracked.tasks.wait()).await.is_ok();
        tracked.cut.cancel();
        tracked.tasks.wait().await;
        Served { drained }
    }
}

/// The handshake of one connection.
struct Handshake {
    settings: TlsSettings,
    peer: SocketAddr,
    log: Arc<LogLimit>,
}

/// Serves one connection, after its handshake if there is TLS.
async fn serve_one<S: HttpService>(
    stream: TcpStream,
    tls: Option<Handshake>,
    service: S,
    streams: u32,
    running: Tracked,
    drain: CancellationToken,
) {
    let Some(Handshake { settings, peer, log }) = tls else {
        return connection::run(stream, service, streams, running, drain).await;
    };
    // An unfinished handshake holds no request, so draining does not wait for it.
    let handshake = connection::handshake(&settings, stream, peer, &log);
    if let Some(Some(stream)) = drain.run_until_cancelled(handshake).await {
        let peer = PeerCertificates::of(stream.get_ref().1.peer_certificates());
        connection::run(stream, WithPeer { service, peer }, streams, running, drain).await;
    }
}

/// Accepts the next connection. A connection that was closed while queued is skipped. When the process is out of
/// descriptors or memory, it retries after a pause that doubles up to a second.
async fn accept(tcp: &TcpListener, log: &LogLimit) -> (TcpStream, SocketAddr) {
    let mut pause = MIN_BACKOFF;
    loop {
        match tcp.accept().await {
            Ok(accepted) => {
                if pause > MIN_BACKOFF {
                    tracing::info!("connections are accepted again");
                }
                return accepted;
            }
            Err(error) if is_peer_error(&error) => {
                tracing::debug!(%error, "connection was closed before it was accepted")
            }
            Err(error) => {
                if let Some(left_out) = log.permit() {
                    tracing::warn!(%error, ?pause, left_out, "accepting connections failed, retrying after a pause");
                }
                tokio::time::sleep(pause).await;
                pause = next_pause(pause);
            }
        }
    }
}

pub(super) fn next_pause(pause: Duration) -> Duration {
    (pause * 2).min(MAX_BACKOFF)
}

fn is_peer_error(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}
