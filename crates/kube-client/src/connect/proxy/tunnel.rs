//! HTTP proxies: CONNECT, over TLS if need be.

#[cfg(not(feature = "http-proxy"))]
pub(super) use disabled::through;
#[cfg(feature = "http-proxy")]
pub(super) use enabled::through;

#[cfg(feature = "http-proxy")]
mod enabled {
    use base64::{Engine, engine::general_purpose::STANDARD};
    use http::{HeaderValue, Uri};
    use hyper_util::client::legacy::connect::proxy::Tunnel;

    use crate::config::{Config, credentials_of};
    use crate::connect::ConnectError;
    use crate::connect::connector::is_https;
    use crate::connect::proxy::named::{named, with_port};
    use crate::tls::{Backend, Offer, Peer, secure};
    use crate::transport::{AnyConnector, any, tcp_connector};

    pub(in crate::connect::proxy) fn through(
        proxy: &Uri,
        proxy_url: Uri,
        backend: Option<Backend>,
        config: &Config,
    ) -> Result<AnyConnector, ConnectError> {
        let (to_proxy, port) = if is_https(proxy) {
            let backend = backend.ok_or(ConnectError::TlsRequired)?;
            (secure(backend, config, tcp_connector(), &Peer::Proxy, Offer::Http1)?, 443)
        } else {
            (any(tcp_connector()), 80)
        };
        let mut tunnel = Tunnel::new(with_port(proxy_url.clone(), port), to_proxy);
        if let Some((user, password)) = credentials_of(proxy) {
            let encoded = format!("Basic {}", STANDARD.encode(format!("{user}:{password}")));
            tunnel = tunnel.with_auth(HeaderValue::try_from(encoded).expect("invariant: base64 is ASCII"));
        }
        Ok(named(proxy_url, tunnel))
    }
}

#[cfg(not(feature = "http-proxy"))]
mod disabled {
    use http::Uri;

    use crate::config::Config;
    use crate::connect::ConnectError;
    use crate::tls::Backend;
    use crate::transport::AnyConnector;

    pub(in crate::connect::proxy) fn through(
        _: &Uri,
        proxy_url: Uri,
        _: Option<Backend>,
        _: &Config,
    ) -> Result<AnyConnector, ConnectError> {
        Err(ConnectError::ProxyDisabled { proxy_url, protocol_feature: "http-proxy" })
    }
}
