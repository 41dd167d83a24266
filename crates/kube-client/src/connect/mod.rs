//! From a [`Config`](crate::Config) to connections: straight or through a proxy, with TLS where the URL asks for it.

mod connector;
mod error;
mod proxy;

pub(crate) use connector::connector;
pub(crate) use error::ConnectError;
