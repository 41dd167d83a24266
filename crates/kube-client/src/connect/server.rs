//! The connector to the server of a configuration.

use super::ConnectError;
use super::endpoint::is_https;
use super::proxy::proxy_connector;
use crate::config::Config;
use crate::tls::{Alpn, Backend, Peer, with_tls};
use crate::transport::{BoxConnector, boxed, tcp_connector};

/// Connects to the server of `config`: through its proxy if it has one, with TLS if its URL is https.
pub(crate) fn server_connector(
    backend: Option<Backend>,
    config: &Config,
    peer: &Peer,
    alpn: Alpn,
) -> Result<BoxConnector, ConnectError> {
    let server_tls = match is_https(&config.cluster_url) {
        true => Some(backend.ok_or(ConnectError::TlsRequired)?),
        false => None,
    };
    let connector = match &config.proxy_url {
        None => boxed(tcp_connector()),
        Some(proxy) => proxy_connector(proxy, backend, config)?,
    };
    match server_tls {
        None => Ok(connector),
        Some(tls) => Ok(with_tls(tls, config, connector, peer, alpn)?),
    }
}
