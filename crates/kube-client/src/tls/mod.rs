//! TLS by rustls or OpenSSL: which servers to trust, and which client certificate to present.

// The certificates, for either library, and reloading them from files.
#[cfg(any(feature = "rustls-tls", feature = "openssl-tls"))]
mod ca_file;
mod file_version;
mod identity;
mod peer;
// The libraries.
#[cfg(feature = "openssl-tls")]
pub(crate) mod openssl_tls;
#[cfg(feature = "rustls-tls")]
pub(crate) mod rustls_tls;
// The one that this build uses.
mod backend;
mod error;

pub(crate) use backend::{Backend, with_tls};
pub(crate) use error::TlsError;
pub(crate) use identity::{IdentityEpoch, IdentityProvider};
#[cfg(feature = "openssl-tls")]
pub use openssl_tls::OpensslTlsError;
pub(crate) use peer::{Alpn, Peer};
#[cfg(feature = "rustls-tls")]
pub use rustls_tls::RustlsTlsError;
