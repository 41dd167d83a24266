//! A connector that forgets its sessions when the client certificate or the authorities change.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use http::Uri;
use tokio::time::Instant;
use tower::{BoxError, ServiceExt};
use tower_service::Service;

use super::connector::https_connector;
use crate::config::Config;
use crate::tls::stamp::{Stamp, stamp_of};
use crate::tls::{IdentityEpoch, Offer, Peer, TlsError};
use crate::transport::{AnyConnector, AnyIo, Connects, any};

/// Puts TLS around a connector. URLs with http go through without it.
///
/// OpenSSL's connector keeps sessions. One that is resumed goes on with the client certificate that it began with, and asks no authority
/// about the server. So there is a new connector when either changes.
pub(crate) fn renewed_connector<C: Connects>(
    config: &Config,
    connector: C,
    peer: &Peer,
    offer: Offer,
) -> Result<AnyConnector, TlsError> {
    let identity = match peer {
        Peer::Server { giver } => IdentityEpoch::of(&config.auth_info, giver.clone())?,
        Peer::Proxy => IdentityEpoch::constant(),
    };
    let made_of = MadeOf { identity, authorities: config.root_cert_file.clone() };
    let (config, peer) = (config.clone(), peer.clone());
    let make = move || https_connector(&config, connector.clone(), &peer, offer).map(any);
    let first = (made_of.current(), make()?);
    Ok(any(Renewed { make: Arc::new(make), made_of, current: Arc::new(Mutex::new(first)) }))
}

/// Another one for each client certificate and each state of the authorities.
type Version = (u64, Option<Stamp>);

/// What a connector and its sessions are made of.
#[derive(Clone)]
struct MadeOf {
    identity: IdentityEpoch,
    authorities: Option<PathBuf>,
}

impl MadeOf {
    fn current(&self) -> Version {
        (self.identity.current(Instant::now()), self.authorities.as_deref().and_then(stamp_of))
    }
}

#[derive(Clone)]
struct Renewed<F> {
    make: Arc<F>,
    made_of: MadeOf,
    current: Arc<Mutex<(Version, AnyConnector)>>,
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
        let made_of = self.made_of.current();
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if current.0 != made_of {
            // What cannot be used now, such as a half-written file, is tried again with the next connection.
            match (self.make)() {
                Ok(connector) => *current = (made_of, connector),
                Err(err) => tracing::warn!(error = %err, "changed certificates cannot be used"),
            }
        }
        current.1.clone().oneshot(target)
    }
}
