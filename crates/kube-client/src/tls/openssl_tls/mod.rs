//! TLS by OpenSSL.

mod connector;
mod error;
mod identity;
mod renewed;
mod roots;

pub(crate) use connector::{https_connector, ssl_connector_builder};
pub use error::OpensslTlsError;
use error::SslConnectorError;
pub(crate) use renewed::renewed_connector;
