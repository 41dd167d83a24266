//! A server on a socket: opens the port, serves, and shuts down.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    path::Path,
    time::Duration,
};

use kube_serve::listener::{Listener, TlsSettings};
use tokio::{sync::oneshot, task::JoinHandle};

use super::{
    kubeconfig::kubeconfig,
    pki::{ClientCredential, ClientIdentity, Pki, ServingCertificate, is_certificate_name, issue},
    start_error::StartError,
};
use crate::{ApiServer, Fault, FaultRule, Match, User, storage::KeyFiles};

/// How long in-flight requests may take at shutdown. Watches end at once.
const DRAIN: Duration = Duration::from_secs(1);
/// The limit of genuine servers.
const STREAMS: u32 = 250;

/// An [`ApiServer`] listening on a port, of loopback unless [`Builder::bind_address`](crate::Builder::bind_address) names another address,
/// for clients that need a real connection.
///
/// Serves until [`shutdown`](Self::shutdown) or until it is dropped; both end all tasks and close the socket. The state lives on in handles
/// from [`api`](Self::api). Must be started within a tokio runtime with I/O and time enabled.
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
    pub(crate) address: IpAddr,
    pub(crate) port: u16,
    pub(crate) streams: u32,
    /// Further names of the server certificate.
    pub(crate) sans: Vec<String>,
    /// Instead of one that the server's own CA issues.
    pub(crate) certificate: Option<ServingCertificate>,
    /// PEM of further CAs whose client certificates are accepted.
    pub(crate) client_ca: Option<String>,
}

impl Default for Socket {
    fn default() -> Self {
        Self {
            tls: false,
            address: Ipv4Addr::LOCALHOST.into(),
            port: 0,
            streams: STREAMS,
            sans: Vec::new(),
            certificate: None,
            client_ca: None,
        }
    }
}

impl TestServer {
    /// The address that the server listens on.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// `http://127.0.0.1:port`, or `https://` with TLS, without a trailing slash. A server that listens on all addresses has the loopback
    /// address here: programs on other machines have to replace it.
    pub fn url(&self) -> String {
        let scheme = if self.ca.is_some() { "https" } else { "http" };
        let address = match self.addr.ip() {
            IpAddr::V4(all) if all.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(all) if all.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
            address => address,
        };
        format!("{scheme}://{}", SocketAddr::new(address, self.addr.port()))
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
    let Socket { tls, address, port, streams, mut sans, certificate, client_ca } = socket;
    if let Some(name) = sans.iter().find(|name| !is_certificate_name(name)) {
        return Err(StartError::CertificateName { name: name.clone() });
    }
    // The operating system may bind these, but no client can connect to them.
    if address.is_multicast() || address == Ipv4Addr::BROADCAST {
        return Err(StartError::Address { address, source: io::ErrorKind::AddrNotAvailable.into() });
    }
    let bound = Listener::bind((address, port).into()).await.map_err(|source| match source.kind() {
        // A link-local IPv6 address without its interface is invalid.
        io::ErrorKind::AddrNotAvailable | io::ErrorKind::InvalidInput => {
            StartError::Address { address, source }
        }
        _ => StartError::Bind { port, source },
    })?;
    if !address.is_unspecified() {
        sans.push(address.to_string());
    }
    let mut listener = bound.drain_deadline(DRAIN).max_concurrent_streams(streams);
    let keys = data.map(KeyFiles::new);
    let pki = if tls { Some(Pki::open(keys.as_ref(), &sans, certificate)?) } else { None };
    if let Some(pki) = &pki {
        api.set_ca(pki.trusted())?;
        let authorities = [pki.ca.as_str(), client_ca.as_deref().unwrap_or_default()].join("\n");
        let (chain, key) = (pki.served.chain.as_bytes(), pki.served.key.expose().as_bytes());
        listener = listener.tls(TlsSettings::from_pem_with_clients(chain, key, authorities.as_bytes())?);
        if client_ca.is_some() {
            api.trust_subjects();
        }
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
    Ok(TestServer {
        api,
        served,
        addr,
        ca: pki.map(|pki| pki.trusted().to_owned()),
        identities,
        stop: Some(stop),
        task,
    })
}
