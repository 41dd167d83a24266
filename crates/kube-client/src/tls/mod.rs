//! TLS by rustls or OpenSSL: which servers to trust, and which client certificate to present.
//!
//! `ca_file` and `identity` are the certificates, read again when they change (`crate::file_version`). `rustls_tls` or `openssl_tls` uses
//! them, `backend` chooses between both, and `peer` is what a connection leads to. `error` is for both.

mod backend;
mod ca_file;
mod error;
mod identity;
#[cfg(feature = "openssl-tls")]
pub(crate) mod openssl_tls;
mod peer;
#[cfg(feature = "rustls-tls")]
pub(crate) mod rustls_tls;

pub(crate) use backend::{Backend, with_tls};
pub(crate) use ca_file::CaEpoch;
pub(crate) use error::TlsError;
pub(crate) use identity::{IdentityEpoch, IdentityProvider};
#[cfg(feature = "openssl-tls")]
pub use openssl_tls::OpensslTlsError;
pub(crate) use peer::{Alpn, Peer};
#[cfg(feature = "rustls-tls")]
pub use rustls_tls::RustlsTlsError;
