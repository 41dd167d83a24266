//! TLS by OpenSSL.

mod error;
mod https;
mod identity;
mod reloading;
mod trust_anchors;

pub use error::OpensslTlsError;
use error::SslConnectorError;
pub(crate) use https::{https_connector, ssl_connector_builder};
pub(crate) use reloading::reloading_connector;
