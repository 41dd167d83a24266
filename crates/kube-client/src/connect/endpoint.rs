//! Scheme and port of servers and proxies.

use http::Uri;
use http::uri::Scheme;

pub(super) fn is_https(url: &Uri) -> bool {
    url.scheme() == Some(&Scheme::HTTPS)
}

/// Adds `port` if the URL has none.
#[cfg(any(feature = "http-proxy", feature = "socks5"))]
pub(super) fn with_port(url: Uri, port: u16) -> Uri {
    if url.port().is_some() {
        return url;
    }
    let mut parts = url.into_parts();
    if let Some(authority) = &parts.authority {
        parts.authority = format!("{authority}:{port}").parse().ok();
    }
    Uri::from_parts(parts).unwrap_or_default()
}

#[cfg(all(test, any(feature = "http-proxy", feature = "socks5")))]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_added_to_a_url_without_one() {
        let with = |url: &str| with_port(url.parse().unwrap(), 7).to_string();
        assert_eq!(with("http://h"), "http://h:7/");
        assert_eq!(with("http://[::1]"), "http://[::1]:7/");
        assert_eq!(with("http://h:1/x"), "http://h:1/x");
    }
}
