//! The TLS library of this build, and TLS around any connector by it.

#[cfg(feature = "rustls-tls")]
use std::sync::Arc;

#[cfg(feature = "openssl-tls")]
use super::openssl_tls;
#[cfg(feature = "rustls-tls")]
use super::rustls_tls;
use super::{Alpn, Peer, TlsError};
use crate::config::Config;
use crate::transport::BoxConnector;

/// A TLS library of this build.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Backend {
    /// With the cryptography provider that the function returns.
    #[cfg(feature = "rustls-tls")]
    Rustls(fn() -> Result<Arc<rustls::crypto::CryptoProvider>, rustls_tls::NoCryptoProvider>),
    #[cfg(feature = "openssl-tls")]
    #[cfg_attr(feature = "rustls-tls", allow(dead_code, reason = "rustls is preferred outside of tests"))]
    Openssl,
}

impl Backend {
    /// rustls if both are enabled, so that another crate that enables OpenSSL changes nothing.
    pub(crate) fn preferred() -> Option<Self> {
        // Also for http: programs expect a provider once they made a client. A missing one is an error where TLS is needed.
        #[cfg(feature = "rustls-tls")]
        let _ = rustls_tls::crypto_provider();
        #[cfg(feature = "rustls-tls")]
        return Some(Self::Rustls(rustls_tls::crypto_provider));
        #[cfg(all(feature = "openssl-tls", not(feature = "rustls-tls")))]
        return Some(Self::Openssl);
        #[cfg(not(any(feature = "rustls-tls", feature = "openssl-tls")))]
        None
    }
}

/// Adds TLS to the https connections of `connector`; http URLs stay without.
pub(crate) fn with_tls(
    backend: Backend,
    config: &Config,
    connector: BoxConnector,
    peer: &Peer,
    alpn: Alpn,
) -> Result<BoxConnector, TlsError> {
    match backend {
        #[cfg(feature = "rustls-tls")]
        Backend::Rustls(provider) => {
            let tls = rustls_tls::client_config(provider()?, config, peer)?;
            let https = rustls_tls::https_connector(config, tls, connector, peer, alpn);
            Ok(crate::transport::boxed(https.map_err(TlsError::Rustls)?))
        }
        #[cfg(feature = "openssl-tls")]
        Backend::Openssl => openssl_tls::reloading_connector(config, connector, peer, alpn),
    }
}
