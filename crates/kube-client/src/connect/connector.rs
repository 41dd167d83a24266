//! The way to a server, put together.

use http::Uri;
use http::uri::Scheme;

use super::ConnectError;
use super::proxy::through;
use crate::config::Config;
use crate::tls::{Backend, Offer, Peer, secure};
use crate::transport::{AnyConnector, any, tcp_connector};

/// Connections to the server of `config`: over its proxy if it has one, with TLS if its URL is https.
pub(crate) fn connector(
    backend: Option<Backend>,
    config: &Config,
    peer: &Peer,
    offer: Offer,
) -> Result<AnyConnector, ConnectError> {
    let with_tls = is_https(&config.cluster_url);
    let backend_for = |needed: bool| backend.filter(|_| needed);
    if with_tls && backend.is_none() {
        return Err(ConnectError::TlsRequired);
    }
    match (&config.proxy_url, backend_for(with_tls)) {
        (None, None) => Ok(any(tcp_connector())),
        (None, Some(backend)) => Ok(secure(backend, config, tcp_connector(), peer, offer)?),
        (Some(proxy), None) => through(proxy, backend, config),
        (Some(proxy), Some(tls)) => Ok(secure(tls, config, through(proxy, backend, config)?, peer, offer)?),
    }
}

pub(in crate::connect) fn is_https(url: &Uri) -> bool {
    url.scheme() == Some(&Scheme::HTTPS)
}
