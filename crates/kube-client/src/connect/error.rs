//! Errors of the connection settings.

use http::Uri;
use http::uri::InvalidUri;
use thiserror::Error;

use crate::tls::TlsError;

/// Why connections cannot be made as configured.
#[derive(Debug, Error)]
pub(crate) enum ConnectError {
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error("the URL of the server is not valid: {0}")]
    ServerUrl(#[source] InvalidUri),
    #[error("the URL of the proxy is not valid: {0}")]
    ProxyUrl(#[source] InvalidUri),
    #[error("there is no TLS in this build")]
    TlsRequired,
    #[cfg_attr(
        all(feature = "http-proxy", feature = "socks5"),
        allow(dead_code, reason = "both kinds of proxy are enabled")
    )]
    #[error("the proxy {proxy_url} needs the feature {protocol_feature}")]
    ProxyDisabled { proxy_url: Uri, protocol_feature: &'static str },
    #[error("the proxy {proxy_url} has an unsupported scheme")]
    ProxyUnsupported { proxy_url: Uri },
}
