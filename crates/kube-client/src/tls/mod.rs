//! TLS, by rustls or by OpenSSL: whom to trust, and what to show. What both need stands here, the rest in a folder each.

#[cfg(any(feature = "rustls-tls", feature = "openssl-tls"))]
mod follow;
mod identity;
#[cfg(feature = "openssl-tls")]
pub(crate) mod openssl_tls;
#[cfg(feature = "rustls-tls")]
pub(crate) mod rustls_tls;
mod secure;
mod stamp;

pub(crate) use identity::{GivesIdentity, IdentityEpoch};
#[cfg(feature = "openssl-tls")]
pub use openssl_tls::OpensslTlsError;
#[cfg(feature = "rustls-tls")]
pub use rustls_tls::RustlsTlsError;
pub(crate) use secure::{Backend, Offer, Peer, TlsError, secure};
