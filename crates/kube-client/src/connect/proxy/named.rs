//! What both kinds of proxies need: ports, and errors that say which proxy it was.

use http::{Uri, uri};
use thiserror::Error;
use tower::{BoxError, ServiceExt};

use crate::transport::{AnyConnector, Connects, any};

/// The URL with a port, its own if it has one.
pub(super) fn with_port(url: Uri, port: u16) -> Uri {
    if url.port().is_some() {
        return url;
    }
    let mut parts = url.into_parts();
    if let Some(authority) = &parts.authority {
        parts.authority = format!("{authority}:{port}").parse::<uri::Authority>().ok();
    }
    Uri::from_parts(parts).unwrap_or_default()
}

/// Says in errors which proxy it was, and names the server's port where its URL does not.
pub(super) fn named<C: Connects>(proxy_url: Uri, connector: C) -> AnyConnector {
    let port_of = |target: Uri| {
        let default = if crate::connect::connector::is_https(&target) { 443 } else { 80 };
        with_port(target, default)
    };
    any(connector
        .map_request(port_of)
        .map_err(move |err: C::Error| ThroughProxy { proxy_url: proxy_url.clone(), cause: err.into() }))
}

#[derive(Debug, Error)]
#[error("the proxy {proxy_url} makes no connection")]
struct ThroughProxy {
    proxy_url: Uri,
    #[source]
    cause: BoxError,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_added_where_there_are_none() {
        let with = |url: &str| with_port(url.parse().unwrap(), 7).to_string();
        assert_eq!(with("http://h"), "http://h:7/");
        assert_eq!(with("http://[::1]"), "http://[::1]:7/");
        assert_eq!(with("http://h:1/x"), "http://h:1/x");
    }
}
