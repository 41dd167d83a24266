//! From a [`Config`](crate::Config) to connections: direct or through a proxy, with TLS for https URLs.

mod endpoint;
mod error;
mod proxy;
mod server;

pub(crate) use error::ConnectError;
pub(crate) use server::server_connector;
