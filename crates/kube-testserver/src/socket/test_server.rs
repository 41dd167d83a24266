use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
    path::Path,
    time::Duration,
};

use kube_serve::listener::{Listener, TlsError, TlsSettings};
use tokio::{sync::oneshot, task::JoinHandle};

use super::{
    kubeconfig::kubeconfig,
    pki::{ClientCredential, ClientIdentity, Pki, issue},
};
use crate::{ApiServer, DataError, Fault, FaultRule, LoadError, Match, User, journal::KeyFiles};

/// How long in-flight requests may take at shutdown. Watches end at once.
const DRAIN: Duration = Duration::from_secs(1);
/// The limit of genuine servers.
const STREAMS: u32 = 250;

/// An [`ApiServer`] listening on a loopback port, for clients that need a real connection.
///
/// Serves until [`shutdown`](Self::shutdown) or until it is dropped; both end all tasks and close the socket. The state lives on in handles from [`api`](Self::api). Must be started within a tokio runtime with I/O and time enabled.
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
    /// The handle whose watches end with the socket.
    served: ApiServer,
    addr: SocketAddr,
    ca: Option<String>,
    identities: Vec<ClientIdentity>,
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<()>,
}

/// Settings of the socket of a [`TestServer`].
#[derive(Clone, Debug)]
pub(crate) struct Socket {
    pub(crate) tls: bool,
    pub(crate) port: u16,
    pub(crate) streams: u32,
}

impl Default for Socket {
    fn default() -> Self {
        Self { tls: false, port: 0, streams: STREAMS }
    }
}

/// Why a server could not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The port is in use or not permitted; port 0 selects a free one.
    #[error("cannot listen on 127.0.0.1:{port}")]
    Bind {
        /// The requested port.
        port: u16,
        /// The error of the operating system.
        #[source]
        source: io::Error,
    },
    /// Generating the certificates failed.
    #[error("cannot generate the server's certificates")]
    Certificates(#[source] rcgen::Error),
    /// The generated certificates cannot be used.
    #[error("cannot use the server's certificates")]
    Tls(#[from] TlsError),
    /// An initial object cannot be read or was rejected.
    #[error("cannot load the initial objects")]
    Objects(#[from] LoadError),
    /// The data directory cannot be used.
    #[error("cannot use the data directory")]
    Data(#[from] DataError),
}

impl TestServer {
    /// The address that the server listens on.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// `http://127.0.0.1:port`, or `https://` with TLS, without a trailing slash.
    pub fn url(&self) -> String {
        let scheme = if self.ca.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.addr)
    }

    /// A kubeconfig for this server as YAML, with its CA certificate if it uses TLS. Write it to a file for `kubectl`.
    ///
    /// The current context is `testserver`; with RBAC it is an administrator, and every user has a context of its name.
    pub fn kubeconfig(&self) -> String {
        kubeconfig(&self.url(), self.ca.as_deref(), &self.identities)
    }

    /// The server as a service, without the socket. The handle may outlive this.
    pub fn api(&self) -> ApiServer {
        self.api.clone()
    }

    /// Injects a fault into matching requests, as [`ApiServer::fault`] does.
    pub fn fault(&self, matching: Match, fault: impl Into<Fault>) -> FaultRule {
        self.api.fault(matching, fault)
    }

    /// Advances the server's clock, as [`ApiServer::advance`] does.
    pub fn advance(&self, by: Duration) {
        self.api.advance(by);
    }

    /// Ends every watch that was started through the socket; connections stay open.
    pub fn end_watches(&self) {
        self.served.end_watches();
    }

    /// Closes the socket, ends the watches, waits for in-flight requests (at most a second), and returns when all connections are closed.
    pub async fn shutdown(mut self) {
        drop(self.stop.take());
        self.served.end_watches();
        self.served.connections().end().await;
        // The task is ending; it is only aborted on drop.
        if let Err(error) = (&mut self.task).await {
            tracing::error!(%error, "the server's task failed");
        }
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.served.connections().cut();
        self.task.abort();
    }
}

/// Binds the socket and serves in a new task.
pub(crate) async fn open(
    socket: Socket,
    users: Vec<User>,
    data: Option<&Path>,
    api: ApiServer,
) -> Result<TestServer, StartError> {
    let Socket { tls, port, streams } = socket;
    let bound = Listener::bind((Ipv4Addr::LOCALHOST, port).into()).await;
    let bound = bound.map_err(|source| StartError::Bind { port, source })?;
    let mut listener = bound.drain_deadline(DRAIN).max_concurrent_streams(streams);
    let keys = data.map(KeyFiles::new);
    let pki = if tls { Some(Pki::open(keys.as_ref())?) } else { None };
    if let Some(pki) = &pki {
        api.set_ca(&pki.ca)?;
        listener = listener.tls(TlsSettings::from_pem_with_clients(
            pki.chain.as_bytes(),
            pki.key.as_bytes(),
            pki.ca.as_bytes(),
        )?);
    }
    let identities = issue(users, pki.as_ref(), keys.as_ref())?;
    for identity in &identities {
        match &identity.credential {
            ClientCredential::Token(token) => api.add_token(token.clone(), identity.user.clone()),
            ClientCredential::Certificate { der, .. } => {
                api.add_certificate(der.clone(), identity.user.clone())
            }
        }
    }
    let addr = listener.local_addr();
    let served = api.for_socket();
    let (stop, stopped) = oneshot::channel::<()>();
    let service = served.clone();
    let task = tokio::spawn(async move {
        // Sent or dropped: both stop the server.
        let stopped = async { drop(stopped.await) };
        listener.serve(service, stopped).await;
    });
    Ok(TestServer { api, served, addr, ca: pki.map(|pki| pki.ca), identities, stop: Some(stop), task })
}
