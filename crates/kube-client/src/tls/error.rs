//! Why TLS cannot be set up, by either library.

use thiserror::Error;

#[cfg(feature = "openssl-tls")]
use super::openssl_tls::OpensslTlsError;
#[cfg(feature = "rustls-tls")]
use super::rustls_tls::{NoCryptoProvider, RustlsTlsError};
use crate::config::KubeconfigError;

/// Why TLS cannot be set up.
#[derive(Debug, Error)]
pub(crate) enum TlsError {
    #[cfg(feature = "rustls-tls")]
    #[error(transparent)]
    Rustls(RustlsTlsError),
    #[cfg(feature = "rustls-tls")]
    #[error(transparent)]
    NoCryptoProvider(#[from] NoCryptoProvider),
    #[cfg(feature = "openssl-tls")]
    #[error(transparent)]
    Openssl(OpensslTlsError),
    #[error(transparent)]
    Kubeconfig(#[from] KubeconfigError),
}
