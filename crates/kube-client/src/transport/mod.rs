//! From a connector to responses: connections with timeouts, pooled, over HTTP/1.1 or HTTP/2.
//!
//! `tcp` dials one address, `addresses` those of a name, `redial` begins anew while nothing answers, `secured` goes on to another address
//! when TLS with one fails, and `deadline` limits the time. `gate` paces attempts after one has failed, `boxed` makes one type of all
//! connections. `pool` keeps connections of `http1` and `http2`, whose tasks `executor` runs; `service` sends requests over them, which
//! have `extensions`. `error` says why there is no response.

mod addresses;
mod boxed;
mod deadline;
mod error;
mod executor;
mod extensions;
mod gate;
mod http1;
mod http2;
mod pool;
mod redial;
mod secured;
mod service;
mod tcp;
#[cfg(test)]
mod tests;

pub(crate) use boxed::BoxConnector;
#[cfg(feature = "openssl-tls")]
pub(crate) use boxed::BoxIo;
#[cfg(any(feature = "http-proxy", feature = "socks5"))]
pub(crate) use boxed::Connector;
#[cfg(any(
    test,
    feature = "rustls-tls",
    feature = "openssl-tls",
    feature = "http-proxy",
    feature = "socks5"
))]
pub(crate) use boxed::boxed;
pub(crate) use deadline::DeadlineConnector;
pub(crate) use error::{closed_before_response, is_connect};
pub(crate) use executor::SharedExecutor;
pub(crate) use extensions::{FreshConnection, NegotiatedVersion};
pub(crate) use http2::NotProcessed;
pub(crate) use redial::tcp_connector;
pub(crate) use secured::secured_connector;
pub(crate) use service::Transport;
#[cfg(any(feature = "rustls-tls", feature = "openssl-tls"))]
pub(crate) use tcp::plain_tcp_connector;
#[cfg(test)]
pub(crate) use tests::MemoryIo;
