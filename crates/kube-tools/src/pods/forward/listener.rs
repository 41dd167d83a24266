//! [`Forwarder`]: the listeners, and the tasks behind them.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube_client::Api;
use parking_lot::Mutex;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{broadcast, watch};
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::connection::Route;
use super::error::ForwardError;
use super::resolve::Resolver;
use super::target::{ForwardPort, ForwardTarget};

/// Local listeners whose connections are forwarded to a pod: returned by [`ApiExt::forward`](crate::ApiExt::forward). Dropping it closes
/// the listeners and ends the connections.
#[derive(Debug)]
pub struct Forwarder {
    addresses: Vec<SocketAddr>,
    errors: broadcast::Sender<Arc<ForwardError>>,
    stop: watch::Sender<()>,
    tasks: JoinSet<()>,
}

/// Errors that are kept for a receiver that does not read them.
const ERRORS_KEPT: usize = 64;

impl Forwarder {
    /// The local addresses, in the order of the ports.
    pub fn local_addrs(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// The errors of connections from now on: each names its pod and port. They are logged as well. A receiver that falls behind loses the
    /// oldest ones.
    pub fn errors(&self) -> broadcast::Receiver<Arc<ForwardError>> {
        self.errors.subscribe()
    }

    /// Closes the listeners, and waits until the open connections have ended. To end them at once, drop this.
    pub async fn shutdown(mut self) {
        self.stop.send_replace(());
        while self.tasks.join_next().await.is_some() {}
    }
}

pub(crate) async fn forward(
    pods: Api<Pod>,
    target: &ForwardTarget,
    ports: &[ForwardPort],
) -> Result<Forwarder, ForwardError> {
    if ports.is_empty() {
        return Err(ForwardError::NoPort { target: target.clone() });
    }
    if pods.namespace().is_none_or(str::is_empty) {
        let reason = "the Api has no namespace: create it by Api::namespaced".to_owned();
        let port = ports[0].remote.clone();
        return Err(ForwardError::Unsuitable { target: target.clone(), port, reason });
    }
    // First what can be refused, then the listeners.
    let mut routes = Vec::new();
    for port in ports {
        let resolver = Resolver { pods: pods.clone(), target: target.clone(), port: port.remote.clone() };
        let last = match resolver.resolve().await {
            Ok(endpoint) => Some(endpoint),
            Err(ForwardError::NotReady { .. }) => None,
            Err(err) => return Err(err),
        };
        routes.push(Route { resolver, last: Mutex::new(last) });
    }
    let mut listeners = Vec::new();
    for (port, route) in ports.iter().zip(routes) {
        let listen = |source| ForwardError::Listen { address: port.local, source };
        let listener = TcpListener::bind(port.local).await.map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        listeners.push((address, listener, Arc::new(route)));
    }
    let (errors, _) = broadcast::channel(ERRORS_KEPT);
    let (stop, stopped) = watch::channel(());
    let addresses = listeners.iter().map(|(address, ..)| *address).collect();
    let mut tasks = JoinSet::new();
    for (_, listener, route) in listeners {
        tasks.spawn(listen(listener, route, errors.clone(), stopped.clone()));
    }
    Ok(Forwarder { addresses, errors, stop, tasks })
}

/// Accepts connections until it is stopped, then waits for the open ones.
async fn listen(
    listener: TcpListener,
    route: Arc<Route>,
    errors: broadcast::Sender<Arc<ForwardError>>,
    mut stopped: watch::Receiver<()>,
) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((socket, peer)) => {
                    connections.spawn(serve(socket, peer, route.clone(), errors.clone()));
                }
                // Too many open files, or a connection that has ended before it was accepted.
                Err(err) => {
                    tracing::warn!(error = %err, "cannot accept a connection to forward");
                    sleep(Duration::from_millis(100)).await;
                }
            },
            Some(_) = connections.join_next() => {}
            _ = stopped.changed() => break,
        }
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

async fn serve(
    mut socket: TcpStream,
    peer: SocketAddr,
    route: Arc<Route>,
    errors: broadcast::Sender<Arc<ForwardError>>,
) {
    let _ = socket.set_nodelay(true);
    if let Err(err) = route.serve(&mut socket).await {
        tracing::warn!(%peer, error = %err, "a forwarded connection failed");
        reset(&socket);
        // Nobody has to listen to errors.
        let _ = errors.send(Arc::new(err));
    }
}

/// Makes dropping the socket a reset, so that the client does not take a failure for the end of the data.
fn reset(socket: &TcpStream) {
    #[allow(deprecated, reason = "its successor needs tokio 1.50; zero never blocks")]
    let _ = socket.set_linger(Some(Duration::ZERO));
}
