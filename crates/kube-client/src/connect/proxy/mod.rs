//! Connections through a proxy: HTTP CONNECT (RFC 9110, 9.3.6), over TLS if need be, and SOCKS5 (RFC 1928, 1929).

#[cfg(any(feature = "http-proxy", feature = "socks5"))]
mod named;
mod socks;
mod tunnel;

use http::Uri;

use super::ConnectError;
use crate::config::{Config, without_credentials};
use crate::tls::Backend;
use crate::transport::AnyConnector;

/// A proxy that is asked for but cannot be used is an error: it must not be passed by silently.
pub(super) fn through(
    proxy: &Uri,
    backend: Option<Backend>,
    config: &Config,
) -> Result<AnyConnector, ConnectError> {
    let proxy_url = without_credentials(proxy);
    match proxy.scheme_str() {
        Some("http" | "https") => tunnel::through(proxy, proxy_url, backend, config),
        Some("socks5" | "socks5h") => socks::through(proxy, proxy_url),
        _ => Err(ConnectError::ProxyUnsupported { proxy_url }),
    }
}
