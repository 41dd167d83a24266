use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
    time::Duration,
};

use kube_serve::listener::{Listener, TlsError, TlsSettings};
use tokio::{sync::oneshot, task::JoinHandle};

use super::{kubeconfig::kubeconfig, pki::Pki};
use crate::ApiServer;

/// How long requests that are running at shutdown may take. Watches are ended at once.
const DRAIN: Duration = Duration::from_secs(1);
/// What genuine servers allow on one connection.
const STREAMS: u32 = 250;

/// An [`ApiServer`] listening on a loopback port, for clients that need a real connection.
///
/// Serves until [`shutdown`](Self::shutdown) or until it is dropped; either way no task and no socket is left, and the
/// state lives on in handles from [`api`](Self::api). Must be started within a tokio runtime with I/O and time.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let server = kube_testserver::TestServer::start().await?;
/// println!("try: curl {}/api/v1/namespaces", server.url());
/// assert!(server.kubeconfig().contains(&server.url()));
/// server.shutdown().await;
/// # Ok::<_, kube_testserver::StartError>(()) }).unwrap();
/// ```
#[derive(Debug)]
pub struct TestServer {
    api: ApiServer,
    /// The handle whose watches end when the socket closes.
    served: ApiServer,
    addr: SocketAddr,
    ca: Option<String>,
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<()>,
}

/// Settings of a [`TestServer`] before it starts.
#[derive(Clone, Debug)]
pub struct TestServerBuilder {
    tls: bool,
    port: u16,
    streams: u32,
    api: Option<ApiServer>,
}

/// Why a [`TestServer`] could not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The port is taken or not allowed; port 0 takes a free one.
    #[error("cannot listen on 127.0.0.1:{port}")]
    Bind {
        /// The port that was asked for.
        port: u16,
        /// What the system says.
        #[source]
        source: io::Error,
    },
    /// The server's own certificates could not be made.
    #[error("cannot generate the server's certificates")]
    Certificates(#[source] rcgen::Error),
    /// The certificates that were made cannot be used.
    #[error("cannot use the server's certificates")]
    Tls(#[from] TlsError),
}

impl TestServer {
    /// Starts a new server on a free loopback port, plain HTTP.
    ///
    /// # Errors
    /// When the system gives no port.
    pub async fn start() -> Result<Self, StartError> {
        Self::builder().start().await
    }

    /// Starts with settings of your own.
    pub fn builder() -> TestServerBuilder {
        TestServerBuilder { tls: false, port: 0, streams: STREAMS, api: None }
    }

    /// Where the server listens.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// `http://127.0.0.1:port`, or `https://` with TLS. No slash at the end.
    pub fn url(&self) -> String {
        let scheme = if self.ca.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.addr)
    }

    /// A kubeconfig for this server, as YAML, with its CA when it speaks TLS. Write it to a file for `kubectl`.
    pub fn kubeconfig(&self) -> String {
        kubeconfig(&self.url(), self.ca.as_deref())
    }

    /// The server itself, for calls without the socket. The handle may outlive this.
    pub fn api(&self) -> ApiServer {
        self.api.clone()
    }

    /// Ends every watch that came in through the socket; connections stay.
    pub fn end_watches(&self) {
        self.served.end_watches();
    }

    /// Closes the socket, ends the watches, lets running requests finish (at most a second) and returns when every
    /// connection is gone.
    pub async fn shutdown(mut self) {
        drop(self.stop.take());
        self.served.end_watches();
        // The task ends by itself now; it cannot have been aborted, that is only done on drop.
        if let Err(error) = (&mut self.task).await {
            tracing::error!(%error, "the server's task ended badly");
        }
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl TestServerBuilder {
    /// Speaks TLS with a certificate from a CA of its own, made at start. HTTP/2 and HTTP/1.1 by ALPN.
    #[must_use]
    pub fn tls(mut self) -> Self {
        self.tls = true;
        self
    }

    /// Listens on this port instead of a free one.
    #[must_use]
    pub fn port(mut self, port: u16) -> Self {
        self.port = port;
        self
    }

    /// How many requests, watches included, may be under way at once on one HTTP/2 connection: 250 by default, as
    /// genuine servers allow. Clients with more need a further connection.
    #[must_use]
    pub fn max_concurrent_streams(mut self, streams: u32) -> Self {
        self.streams = streams;
        self
    }

    /// Serves the state of an existing server: for a second socket, or the same one again after a shutdown.
    #[must_use]
    pub fn api(mut self, api: ApiServer) -> Self {
        self.api = Some(api);
        self
    }

    /// Binds the socket and serves in a task of its own.
    ///
    /// # Errors
    /// [`StartError`] says what was missing.
    pub async fn start(self) -> Result<TestServer, StartError> {
        let port = self.port;
        let bound = Listener::bind((Ipv4Addr::LOCALHOST, port).into()).await;
        let bound = bound.map_err(|source| StartError::Bind { port, source })?;
        let mut listener = bound.drain_deadline(DRAIN).max_concurrent_streams(self.streams);
        let mut ca = None;
        if self.tls {
            let pki = Pki::generate().map_err(StartError::Certificates)?;
            listener = listener.tls(TlsSettings::from_pem(pki.chain.as_bytes(), pki.key.as_bytes())?);
            ca = Some(pki.ca);
        }
        let addr = listener.local_addr();
        let api = self.api.unwrap_or_default();
        let served = api.with_own_watches();
        let (stop, stopped) = oneshot::channel::<()>();
        let service = served.clone();
        let task = tokio::spawn(async move {
            // Told to, or abandoned: both mean the end.
            let stopped = async { drop(stopped.await) };
            listener.serve(service, stopped).await;
        });
        Ok(TestServer { api, served, addr, ca, stop: Some(stop), task })
    }
}
