//! What both kinds of proxies need: credentials, ports, and errors that say which proxy it was.

use http::{Uri, uri};
use percent_encoding::percent_decode_str;
use thiserror::Error;
use tower::{BoxError, ServiceExt};

use crate::transport::{AnyConnector, Connects, any};

/// User and password of a URL, their percent-escapes undone.
pub(super) fn credentials_of(url: &Uri) -> Option<(String, String)> {
    let (credentials, _) = url.authority()?.as_str().rsplit_once('@')?;
    let (user, password) = credentials.split_once(':').unwrap_or((credentials, ""));
    let decoded = |text| percent_decode_str(text).decode_utf8_lossy().into_owned();
    Some((decoded(user), decoded(password)))
}

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
    fn credentials_are_decoded() {
        let of = |url: &str| credentials_of(&url.parse().unwrap());
        assert_eq!(of("http://me:p%40ss%3A@h:1"), Some(("me".into(), "p@ss:".into())));
        assert_eq!(of("http://me@h"), Some(("me".into(), String::new())));
        assert_eq!(of("http://h"), None);
    }

    #[test]
    fn ports_are_added_where_there_are_none() {
        let with = |url: &str| with_port(url.parse().unwrap(), 7).to_string();
        assert_eq!(with("http://h"), "http://h:7/");
        assert_eq!(with("http://[::1]"), "http://[::1]:7/");
        assert_eq!(with("http://h:1/x"), "http://h:1/x");
    }
}
