//! From a connector to responses: connections with timeouts, pooled, over HTTP/1.1 or HTTP/2.

// Connections: TCP, any kind as one type, with timeouts, and their pace while nothing answers.
mod boxed;
mod deadline;
mod gate;
mod tcp;
// Requests over them, and the executor of the tasks that drive them.
mod error;
mod executor;
mod extensions;
mod http1;
mod http2;
// Which connection a request uses, and the service on top.
mod pool;
mod service;
#[cfg(test)]
mod tests;

#[cfg(feature = "openssl-tls")]
pub(crate) use boxed::BoxIo;
#[cfg(any(feature = "http-proxy", feature = "socks5"))]
pub(crate) use boxed::Connector;
pub(crate) use boxed::{BoxConnector, boxed};
pub(crate) use deadline::DeadlineConnector;
pub(crate) use error::{closed_before_response, is_connect};
pub(crate) use executor::SharedExecutor;
pub(crate) use extensions::{FreshConnection, NegotiatedVersion};
pub(crate) use http2::NotProcessed;
pub(crate) use service::Transport;
#[cfg(any(feature = "rustls-tls", feature = "openssl-tls"))]
pub(crate) use tcp::plain_tcp_connector;
pub(crate) use tcp::tcp_connector;
#[cfg(test)]
pub(crate) use tests::MemoryIo;
