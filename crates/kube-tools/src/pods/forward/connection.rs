//! One forwarded connection.

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube_client::Api;
use kube_client::api::Portforwarder;
use kube_client::error::ErrorChain;
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};

use super::error::ForwardError;
use super::resolve::{Endpoint, Resolver};

/// How long a connection waits for a ready pod, as `kubectl port-forward` does at its start.
const READY_LIMIT: Duration = Duration::from_secs(60);

const READY_CHECK: Duration = Duration::from_secs(1);

/// After the client has ended its side, the connection stays open while the pod still sends something within this time. Servers do not
/// forward the end itself, so the pod may never end its side.
const LINGER: Duration = Duration::from_secs(60);

/// One port of a target, and the pod that its last connection went to.
#[derive(Debug)]
pub(super) struct Route {
    pub(super) resolver: Resolver,
    pub(super) last: Mutex<Option<Endpoint>>,
}

impl Route {
    /// Forwards a connection until one side ends it.
    pub(super) async fn serve(&self, socket: &mut TcpStream) -> Result<(), ForwardError> {
        let (endpoint, mut forwarder) = self.connect(socket).await?;
        let lost = |reason: String| ForwardError::Disconnected {
            pod: endpoint.pod.clone(),
            port: endpoint.port,
            reason,
        };
        let refusal = forwarder.take_error(endpoint.port);
        let Some(stream) = forwarder.take_stream(endpoint.port) else {
            return Err(lost("the connection has no stream".to_owned()));
        };
        let ended_by = pump(socket, stream).await;
        if ended_by == Side::Client {
            return Ok(());
        }
        // The stream is dropped, so the connection ends, and with it the wait for its error.
        let joined = forwarder.join().await;
        let refused = match refusal {
            Some(refusal) => refusal.await,
            None => None,
        };
        if self.resolver.is_gone(&endpoint).await {
            return Err(ForwardError::PodGone { pod: endpoint.pod, port: endpoint.port });
        }
        match (refused, joined) {
            (Some(message), _) => {
                Err(ForwardError::Refused { pod: endpoint.pod, port: endpoint.port, message })
            }
            (None, Err(err)) => Err(lost(ErrorChain(&err).to_string())),
            (None, Ok(())) => Ok(()),
        }
    }

    /// Connects to the pod of the last connection if it still takes connections, or else to another one.
    async fn connect(&self, socket: &TcpStream) -> Result<(Endpoint, Portforwarder), ForwardError> {
        let last = self.last.lock().clone();
        if let Some(last) = last
            && self.resolver.is_current(&last).await
            && let Ok(forwarder) = open(&self.resolver.pods, &last).await
        {
            return Ok((last, forwarder));
        }
        let deadline = Instant::now() + READY_LIMIT;
        let endpoint = loop {
            match self.resolver.resolve().await {
                Err(err @ ForwardError::NotReady { .. }) if Instant::now() >= deadline => return Err(err),
                Err(ForwardError::NotReady { .. }) => {}
                resolved => break resolved?,
            }
            tokio::select! {
                () = sleep(READY_CHECK) => {}
                // Nobody waits any more.
                () = hung_up(socket) => return Err(ForwardError::NotReady {
                    target: self.resolver.target.clone(),
                    reason: "the client has hung up".to_owned(),
                }),
            }
        };
        *self.last.lock() = Some(endpoint.clone());
        let forwarder = open(&self.resolver.pods, &endpoint).await;
        let forwarder = forwarder
            .map_err(|source| ForwardError::Request { target: self.resolver.target.clone(), source })?;
        Ok((endpoint, forwarder))
    }
}

async fn open(pods: &Api<Pod>, endpoint: &Endpoint) -> kube_client::Result<Portforwarder> {
    pods.portforward(&endpoint.pod, &[endpoint.port]).await
}

/// Returns when the client has closed the connection without having sent anything that is still to be forwarded.
async fn hung_up(socket: &TcpStream) {
    match socket.peek(&mut [0]).await {
        Ok(0) | Err(_) => {}
        Ok(_) => std::future::pending().await,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Client,
    Pod,
}

/// Copies both directions. Returns which side has ended the connection.
async fn pump(client: &mut TcpStream, pod: impl AsyncRead + AsyncWrite) -> Side {
    let (mut from_client, mut to_client) = client.split();
    let (mut from_pod, mut to_pod) = tokio::io::split(pod);
    let (half_closed, mut client_ended) = watch::channel(false);
    let there = async {
        let copied = tokio::io::copy(&mut from_client, &mut to_pod).await;
        let _ = to_pod.shutdown().await;
        match copied {
            Ok(_) => half_closed.send_replace(true),
            // A reset of the client, or the end of the pod, which the other direction sees.
            Err(_) => return,
        };
        std::future::pending::<()>().await;
    };
    let back = async {
        let mut buffer = vec![0; 16 << 10];
        loop {
            let read = tokio::select! {
                read = from_pod.read(&mut buffer) => read,
                () = silent_after_end(&mut client_ended) => return Side::Client,
            };
            match read {
                Ok(0) | Err(_) => break,
                Ok(length) => {
                    if to_client.write_all(&buffer[..length]).await.is_err() {
                        return Side::Client;
                    }
                }
            }
        }
        let ended = *client_ended.borrow();
        if ended { Side::Client } else { Side::Pod }
    };
    tokio::pin!(there, back);
    tokio::select! {
        side = &mut back => side,
        () = &mut there => match tokio::time::timeout(Duration::from_millis(100), back).await {
            Ok(side) => side,
            Err(_) => Side::Client,
        },
    }
}

/// Returns some time after the client has ended its side.
async fn silent_after_end(client_ended: &mut watch::Receiver<bool>) {
    if client_ended.wait_for(|ended| *ended).await.is_err() {
        std::future::pending::<()>().await;
    }
    sleep_until(Instant::now() + LINGER).await;
}
