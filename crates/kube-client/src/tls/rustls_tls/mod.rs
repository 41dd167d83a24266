//! TLS by rustls.
//!
//! `provider` is the cryptography, `verifier` judges servers: by `configured_cas` or `public_cas`. `client_config` puts them together,
//! `error` says why it cannot.

mod client_config;
mod configured_cas;
mod error;
mod provider;
mod public_cas;
mod verifier;

pub(crate) use client_config::{client_config, https_connector};
pub use error::RustlsTlsError;
pub(crate) use provider::{NoCryptoProvider, crypto_provider};
