//! The one parser of the URLs in a configuration: server, proxy, issuer, token endpoint and overrides.
//!
//! [`Uri`] alone accepts a port that is no number and then says that there is none, so that a connection, and the token on it, would go to
//! the default port.

use http::Uri;
use http::uri::{Authority, InvalidUri, Scheme};

/// Which schemes a URL may have.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Schemes {
    /// `http` and `https`.
    Http,
    /// Those and SOCKS5.
    Proxy,
}

impl Schemes {
    fn has(self, scheme: &str) -> bool {
        match self {
            Self::Http => matches!(scheme, "http" | "https"),
            Self::Proxy => matches!(scheme, "http" | "https" | "socks5" | "socks5h"),
        }
    }
}

/// Parses a URL with a scheme and a host. The scheme is lower case in the result.
pub(crate) fn parse_url(text: &str, schemes: Schemes) -> Result<Uri, InvalidUri> {
    let text = text.trim();
    let url: Uri = match text.split_once("://") {
        Some((scheme, rest)) => format!("{}://{rest}", scheme.to_ascii_lowercase()).parse()?,
        None => text.parse()?,
    };
    check_url(&url, schemes).map(|()| url)
}

/// Refuses a URL without host, of another scheme, or with a port that is not a number up to 65535.
pub(crate) fn check_url(url: &Uri, schemes: Schemes) -> Result<(), InvalidUri> {
    if !url.scheme_str().is_some_and(|scheme| schemes.has(&scheme.to_ascii_lowercase())) {
        return Err(Scheme::try_from("?").expect_err("invariant: no scheme has a question mark"));
    }
    let port = port_text(url);
    if url.host().unwrap_or_default().is_empty()
        || !port.is_some_and(|port| port.is_empty() || (is_digits(port) && port.parse::<u16>().is_ok()))
    {
        return Err(Authority::try_from("host:1:1").expect_err("invariant: a host has one port"));
    }
    Ok(())
}

/// What a URL has between user information and path.
pub(super) fn host_and_port(url: &Uri) -> &str {
    let authority = url.authority().map_or("", Authority::as_str);
    authority.rsplit('@').next().unwrap_or_default()
}

/// Whether host and port may be a user and the begin of a password: `https://user:p#w@host` is a [`Uri`] with the host `user` and the port
/// `p`.
pub(super) fn may_be_user(url: &Uri) -> bool {
    let has_user = url.authority().is_some_and(|authority| authority.as_str().contains('@'));
    !has_user && !port_text(url).is_some_and(is_digits)
}

/// What is in the place of the port, empty without one; `None` if something else follows the host.
fn port_text(url: &Uri) -> Option<&str> {
    let after_host = host_and_port(url).strip_prefix(url.host().unwrap_or_default())?;
    if after_host.is_empty() { Some("") } else { after_host.strip_prefix(':') }
}

fn is_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether `host` is this machine: `localhost`, or a loopback address, which may be in brackets.
pub(super) fn is_loopback(host: &str) -> bool {
    let address = without_brackets(host).parse::<std::net::IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

/// The host without the brackets of an IPv6 address.
pub(super) fn without_brackets(host: &str) -> &str {
    host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_a_number_up_to_65535() {
        for url in
            ["http://h", "http://h:", "HTTP://h:1/x?y#z", "https://[::1]:65535", "https://me:p%3A@h:080"]
        {
            assert!(parse_url(url, Schemes::Http).is_ok(), "{url}");
        }
        for url in [
            "",
            "h",
            "h:80",
            "/x",
            "//h",
            "http://",
            "http://:80",
            "http://me@",
            "http:///x",
            "ftp://h",
            "socks5://h",
            "http://h:65536",
            "http://h:180990",
            "http://h:80x",
            "http://h:-1",
            "http://h:+1",
            "http://h:1:1",
            "http://me@h:x",
            "http://[::1]:x",
            "http://[::1",
            "http://[::1]80",
            "http://h h",
            "http://me:p#w@h",
            "http://me:p?w@h",
            "http://me:p/w@h",
        ] {
            assert!(parse_url(url, Schemes::Http).is_err(), "{url}");
        }
        assert_eq!(parse_url(" SOCKS5://H:1 ", Schemes::Proxy).unwrap(), "socks5://H:1/");
        let by_hand: Uri = "SOCKS5://h".parse().unwrap();
        assert!(check_url(&by_hand, Schemes::Proxy).is_ok());
    }

    #[test]
    fn loopback_is_localhost_or_an_address_of_it() {
        for host in ["localhost", "LOCALHOST", "127.0.0.1", "127.9.9.9", "::1", "[::1]"] {
            assert!(is_loopback(host), "{host}");
        }
        for host in ["", "localhost.example.com", "10.0.0.1", "0.0.0.0", "127.0.0.1.example.com", "[fd00::1]"]
        {
            assert!(!is_loopback(host), "{host}");
        }
    }
}
