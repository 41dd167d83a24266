//! A connector that forgets its sessions when the client certificate changes.

use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use http::Uri;
use tokio::time::Instant;
use tower::{BoxError, ServiceExt};
use tower_service::Service;

use super::connector::https_connector;
use crate::config::Config;
use crate::tls::{IdentityEpoch, Offer, Peer, TlsError};
use crate::transport::{AnyConnector, AnyIo, Connects, any};

/// Puts TLS around a connector. URLs with http go through without it.
///
/// OpenSSL's connector keeps sessions, and one that is resumed goes on with the client certificate that it began with. So there is a
/// new connector for each certificate.
pub(crate) fn renewed_connector<C: Connects>(
    config: &Config,
    connector: C,
    peer: &Peer,
    offer: Offer,
) -> Result<AnyConnector, TlsError> {
    let epoch = match peer {
        Peer::Server { giver } => IdentityEpoch::of(&config.auth_info, giver.clone())?,
        Peer::Proxy => return Ok(any(https_connector(config, connector, peer, offer)?)),
    };
    let (config, peer) = (config.clone(), peer.clone());
    let make = move || https_connector(&config, connector.clone(), &peer, offer).map(any);
    let first = (epoch.current(Instant::now()), make()?);
    Ok(any(Renewed { make: Arc::new(make), epoch, current: Arc::new(Mutex::new(first)) }))
}

#[derive(Clone)]
struct Renewed<F> {
    make: Arc<F>,
    epoch: IdentityEpoch,
    current: Arc<Mutex<(u64, AnyConnector)>>,
}

impl<F> Service<Uri> for Renewed<F>
where
    F: Fn() -> Result<AnyConnector, TlsError>,
{
    type Response = AnyIo;
    type Error = BoxError;
    type Future = tower::util::Oneshot<AnyConnector, Uri>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, target: Uri) -> Self::Future {
        let epoch = self.epoch.current(Instant::now());
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if current.0 != epoch {
            // What cannot be used now, such as a half-written file, is tried again with the next connection.
            match (self.make)() {
                Ok(connector) => *current = (epoch, connector),
                Err(err) => tracing::warn!(error = %err, "the changed client certificate cannot be used"),
            }
        }
        current.1.clone().oneshot(target)
    }
}
