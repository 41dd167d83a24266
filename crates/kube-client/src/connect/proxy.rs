//! Connections through a proxy: HTTP CONNECT (RFC 9110, 9.3.6), with or without TLS to the proxy, and SOCKS5 (RFC 1928, 1929).

use http::Uri;

use super::ConnectError;
use crate::config::{Config, Schemes, check_url, origin_of};
use crate::tls::Backend;
use crate::transport::BoxConnector;

/// A configured proxy that cannot be used is an error: connecting directly instead could bypass a policy.
pub(super) fn proxy_connector(
    proxy: &Uri,
    backend: Option<Backend>,
    config: &Config,
) -> Result<BoxConnector, ConnectError> {
    let proxy_url = origin_of(proxy);
    let scheme = proxy.scheme_str().unwrap_or_default().to_ascii_lowercase();
    if !matches!(scheme.as_str(), "http" | "https" | "socks5" | "socks5h") {
        return Err(ConnectError::ProxyUnsupported { proxy_url });
    }
    check_url(proxy, Schemes::Proxy).map_err(ConnectError::ProxyUrl)?;
    match scheme.as_str() {
        "http" | "https" => http_connect::connector(proxy, proxy_url, backend, config),
        _ => socks5::connector(proxy, proxy_url),
    }
}

#[cfg(feature = "http-proxy")]
mod http_connect {
    use base64::{Engine, engine::general_purpose::STANDARD};
    use http::{HeaderValue, Uri};
    use hyper_util::client::legacy::connect::proxy::Tunnel;

    use super::through_proxy::through_proxy;
    use crate::config::{Config, credentials_of};
    use crate::connect::ConnectError;
    use crate::connect::endpoint::{is_https, with_port};
    use crate::tls::{Alpn, Backend, Peer, with_tls};
    use crate::transport::{BoxConnector, secured_connector, tcp_connector};

    pub(super) fn connector(
        proxy: &Uri,
        proxy_url: Uri,
        backend: Option<Backend>,
        config: &Config,
    ) -> Result<BoxConnector, ConnectError> {
        let (to_proxy, port) = if is_https(proxy) {
            let backend = backend.ok_or(ConnectError::TlsRequired)?;
            let tls = |connector| with_tls(backend, config, connector, &Peer::Proxy, Alpn::Http1);
            (secured_connector(tls)?, 443)
        } else {
            (tcp_connector(), 80)
        };
        let mut tunnel = Tunnel::new(with_port(proxy_url.clone(), port), to_proxy);
        if let Some((user, password)) = credentials_of(proxy) {
            let encoded = format!("Basic {}", STANDARD.encode(format!("{user}:{password}")));
            tunnel = tunnel.with_auth(HeaderValue::try_from(encoded).expect("invariant: base64 is ASCII"));
        }
        Ok(through_proxy(proxy_url, tunnel))
    }
}

#[cfg(not(feature = "http-proxy"))]
mod http_connect {
    use http::Uri;

    use crate::config::Config;
    use crate::connect::ConnectError;
    use crate::tls::Backend;
    use crate::transport::BoxConnector;

    pub(super) fn connector(
        _: &Uri,
        proxy_url: Uri,
        _: Option<Backend>,
        _: &Config,
    ) -> Result<BoxConnector, ConnectError> {
        Err(ConnectError::ProxyDisabled { proxy_url, protocol_feature: "http-proxy" })
    }
}

/// SOCKS5. The proxy resolves the server's host name.
#[cfg(feature = "socks5")]
mod socks5 {
    use http::Uri;
    use hyper_util::client::legacy::connect::proxy::SocksV5;

    use super::through_proxy::through_proxy;
    use crate::config::credentials_of;
    use crate::connect::ConnectError;
    use crate::connect::endpoint::with_port;
    use crate::transport::{BoxConnector, tcp_connector};

    /// The port of RFC 1928.
    const PORT: u16 = 1080;

    pub(super) fn connector(proxy: &Uri, proxy_url: Uri) -> Result<BoxConnector, ConnectError> {
        let mut socks = SocksV5::new(with_port(proxy_url.clone(), PORT), tcp_connector());
        if let Some((user, password)) = credentials_of(proxy) {
            socks = socks.with_auth(user, password);
        }
        Ok(through_proxy(proxy_url, socks))
    }
}

#[cfg(not(feature = "socks5"))]
mod socks5 {
    use http::Uri;

    use crate::connect::ConnectError;
    use crate::transport::BoxConnector;

    pub(super) fn connector(_: &Uri, proxy_url: Uri) -> Result<BoxConnector, ConnectError> {
        Err(ConnectError::ProxyDisabled { proxy_url, protocol_feature: "socks5" })
    }
}

/// What both kinds of proxy need.
#[cfg(any(feature = "http-proxy", feature = "socks5"))]
mod through_proxy {
    use http::Uri;
    use thiserror::Error;
    use tower::{BoxError, ServiceExt};

    use crate::connect::endpoint::{is_https, with_port};
    use crate::transport::{BoxConnector, Connector, boxed};

    /// Adds the default port to the server's URL, and the proxy's URL to errors.
    pub(super) fn through_proxy<C: Connector>(proxy_url: Uri, connector: C) -> BoxConnector {
        let with_default_port = |target: Uri| {
            let default = if is_https(&target) { 443 } else { 80 };
            with_port(target, default)
        };
        boxed(
            connector
                .map_request(with_default_port)
                .map_err(move |err: C::Error| ProxyError { proxy_url: proxy_url.clone(), cause: err.into() }),
        )
    }

    #[derive(Debug, Error)]
    #[error("the proxy {proxy_url} cannot connect to the server")]
    struct ProxyError {
        proxy_url: Uri,
        #[source]
        cause: BoxError,
    }
}
