//! A connector that drops its TLS sessions when the client certificate or the CA certificates change.

use std::path::PathBuf;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::Uri;
use parking_lot::Mutex;
use tokio::time::Instant;
use tower::{BoxError, ServiceExt};
use tower_service::Service;

use super::https::https_connector;
use crate::config::Config;
use crate::file_version::FileVersion;
use crate::tls::{Alpn, IdentityEpoch, Peer, TlsError};
use crate::transport::{BoxConnector, BoxIo, boxed};

/// Adds TLS to the https connections of `connector`; http URLs stay without.
///
/// hyper-openssl caches TLS sessions. A resumed session keeps the client certificate that it started with and does not verify the
/// server's certificate again, so the connector is rebuilt when either changes.
pub(crate) fn reloading_connector(
    config: &Config,
    connector: BoxConnector,
    peer: &Peer,
    alpn: Alpn,
) -> Result<BoxConnector, TlsError> {
    let identity = match peer {
        Peer::Server { identity_provider } => {
            IdentityEpoch::of(&config.auth_info, identity_provider.clone())?
        }
        Peer::Proxy => IdentityEpoch::constant(),
    };
    let inputs = Inputs { identity, ca_file: config.root_cert_file.clone() };
    let (config, peer) = (config.clone(), peer.clone());
    let make = move || https_connector(&config, connector.clone(), &peer, alpn).map(boxed);
    let first = (inputs.current(), make()?);
    Ok(boxed(ReloadingConnector { make: Arc::new(make), inputs, current: Arc::new(Mutex::new(first)) }))
}

/// Changes with the client certificate and with the CA file.
type InputVersion = (u64, Option<FileVersion>);

/// The inputs of a connector that may change.
#[derive(Clone)]
struct Inputs {
    identity: IdentityEpoch,
    ca_file: Option<PathBuf>,
}

impl Inputs {
    fn current(&self) -> InputVersion {
        (self.identity.current(Instant::now()), self.ca_file.as_deref().and_then(FileVersion::of))
    }
}

#[derive(Clone)]
struct ReloadingConnector<F> {
    make: Arc<F>,
    inputs: Inputs,
    current: Arc<Mutex<(InputVersion, BoxConnector)>>,
}

impl<F> Service<Uri> for ReloadingConnector<F>
where
    F: Fn() -> Result<BoxConnector, TlsError>,
{
    type Response = BoxIo;
    type Error = BoxError;
    type Future = tower::util::Oneshot<BoxConnector, Uri>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, target: Uri) -> Self::Future {
        let inputs = self.inputs.current();
        let mut current = self.current.lock();
        if current.0 != inputs {
            // Files that cannot be used now, perhaps half written, are tried again with the next connection.
            match (self.make)() {
                Ok(connector) => {
                    tracing::info!("certificates reloaded");
                    *current = (inputs, connector);
                }
                Err(err) => {
                    tracing::warn!(error = %err, "changed certificates cannot be used, keeping the previous ones")
                }
            }
        }
        current.1.clone().oneshot(target)
    }
}
