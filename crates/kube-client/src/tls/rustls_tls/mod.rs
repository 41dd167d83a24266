//! TLS by rustls.

mod connector;
mod error;
mod given;
mod provider;
mod roots;

pub(crate) use connector::{client_config, https_connector};
pub use error::RustlsTlsError;
pub(crate) use provider::{NoCryptoProvider, crypto_provider};
