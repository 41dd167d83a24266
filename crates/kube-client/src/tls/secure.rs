//! TLS around any connector, by whichever library the crate was built with.

use std::sync::Arc;

use thiserror::Error;

use super::GivesIdentity;
use crate::config::{Config, KubeconfigError};
use crate::transport::{AnyConnector, Connects};

/// The libraries for TLS that there are in this build.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Backend {
    /// With the cryptography that this gives.
    #[cfg(feature = "rustls-tls")]
    Rustls(fn() -> Result<Arc<rustls::crypto::CryptoProvider>, super::rustls_tls::NoCryptoProvider>),
    #[cfg(feature = "openssl-tls")]
    #[cfg_attr(feature = "rustls-tls", allow(dead_code, reason = "rustls is preferred outside of tests"))]
    Openssl,
}

impl Backend {
    /// The one to use: rustls where there are both, so that another crate that wants OpenSSL changes nothing.
    pub(crate) fn usual() -> Option<Self> {
        #[cfg(feature = "rustls-tls")]
        return Some(Self::Rustls(super::rustls_tls::crypto_provider));
        #[cfg(all(feature = "openssl-tls", not(feature = "rustls-tls")))]
        return Some(Self::Openssl);
        #[cfg(not(any(feature = "rustls-tls", feature = "openssl-tls")))]
        None
    }
}

/// Which versions of HTTP the server may choose from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Offer {
    /// HTTP/2 and HTTP/1.1.
    Any,
    /// HTTP/1.1 alone, for upgrades.
    Http1,
}

/// Who is at the other end, which decides whom to trust and what to show.
#[derive(Clone, Debug)]
pub(crate) enum Peer {
    /// The cluster's API server. A certificate that `giver` hands over is shown where the user has no other.
    Server { giver: Option<Arc<dyn GivesIdentity>> },
    /// A proxy on the way there: trusted by the cluster's authorities or the public ones, and not shown the user's certificate.
    #[cfg_attr(not(feature = "http-proxy"), allow(dead_code, reason = "only a CONNECT makes one"))]
    Proxy,
}

/// Why TLS cannot be set up.
#[derive(Debug, Error)]
pub(crate) enum TlsError {
    #[cfg(feature = "rustls-tls")]
    #[error(transparent)]
    Rustls(super::RustlsTlsError),
    #[cfg(feature = "rustls-tls")]
    #[error(transparent)]
    NoCryptoProvider(#[from] super::rustls_tls::NoCryptoProvider),
    #[cfg(feature = "openssl-tls")]
    #[error(transparent)]
    Openssl(super::OpensslTlsError),
    #[error(transparent)]
    Kubeconfig(#[from] KubeconfigError),
}

/// Puts TLS around a connector. URLs with http go through without it.
pub(crate) fn secure<C: Connects>(
    backend: Backend,
    config: &Config,
    connector: C,
    peer: &Peer,
    offer: Offer,
) -> Result<AnyConnector, TlsError> {
    match backend {
        #[cfg(feature = "rustls-tls")]
        Backend::Rustls(provider) => {
            let tls = super::rustls_tls::client_config(provider()?, config, peer)?;
            let secured = super::rustls_tls::https_connector(config, tls, connector, peer, offer);
            Ok(crate::transport::any(secured.map_err(TlsError::Rustls)?))
        }
        #[cfg(feature = "openssl-tls")]
        Backend::Openssl => super::openssl_tls::renewed_connector(config, connector, peer, offer),
    }
}
