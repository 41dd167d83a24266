//! The proxy that the environment configures.

use std::net::IpAddr;

use http::Uri;

use super::ip_range::IpRange;
use super::redact::without_credentials;
use super::url::{Schemes, is_loopback, parse_url, without_brackets};
use super::{KubeconfigError, NoProxyError};

/// The proxy of the environment for `target`, by the rules of Go programs such as kubectl.
pub(crate) fn proxy_from_env(target: &Uri) -> Result<Option<Uri>, KubeconfigError> {
    select_proxy(target, |name| std::env::var(name).ok().filter(|value| !value.trim().is_empty()))
}

fn select_proxy(
    target: &Uri,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Option<Uri>, KubeconfigError> {
    let either = |upper: &str, lower: &str| variable(upper).or_else(|| variable(lower));
    let proxy = match target.scheme_str() {
        Some("https") => either("HTTPS_PROXY", "https_proxy"),
        // Under CGI, HTTP_PROXY is set from a request header.
        _ if variable("REQUEST_METHOD").is_some() => variable("http_proxy"),
        _ => either("HTTP_PROXY", "http_proxy"),
    };
    let Some(proxy) = proxy else { return Ok(None) };
    let destination = Destination::of(target).map_err(KubeconfigError::ParseNoProxy)?;
    if is_loopback(&destination.host) {
        return Ok(None);
    }
    let exceptions = either("NO_PROXY", "no_proxy").unwrap_or_default();
    if destination.matches_any(&exceptions) {
        return Ok(None);
    }
    let proxy = proxy.trim();
    let with_scheme = if proxy.contains("://") { proxy.to_owned() } else { format!("http://{proxy}") };
    parse_url(&with_scheme, Schemes::Proxy).map(Some).map_err(KubeconfigError::ParseProxyUrl)
}

/// The server of a connection.
struct Destination {
    /// Lower case, without the brackets of an IPv6 address.
    host: String,
    address: Option<IpAddr>,
    port: u16,
}

impl Destination {
    fn of(url: &Uri) -> Result<Self, NoProxyError> {
        let host = url.host().filter(|host| !host.is_empty());
        let host = host.ok_or_else(|| NoProxyError::NoHost { uri: Box::new(without_credentials(url)) })?;
        let host = without_brackets(host).to_ascii_lowercase();
        let default = if url.scheme_str() == Some("http") { 80 } else { 443 };
        Ok(Self { address: host.parse().ok(), host, port: url.port_u16().unwrap_or(default) })
    }

    /// Whether an entry of the list matches. Entries that can match nothing are ignored with a warning, as one list serves many programs.
    fn matches_any(&self, list: &str) -> bool {
        let entries = list.split(',').map(str::trim).filter(|entry| !entry.is_empty());
        entries.map(|entry| self.matches(entry)).fold(false, |found, matches| {
            let matches = matches.unwrap_or_else(|err| {
                tracing::warn!(%err, "an entry of NO_PROXY is ignored");
                false
            });
            found || matches
        })
    }

    fn matches(&self, entry: &str) -> Result<bool, NoProxyError> {
        if entry == "*" {
            return Ok(true);
        }
        let invalid = || NoProxyError::ParseMatcher { input: entry.to_owned() };
        if entry.contains('/') {
            let range = IpRange::parse(entry).ok_or_else(invalid)?;
            return Ok(self.address.is_some_and(|address| range.contains(address)));
        }
        if let Ok(address) = without_brackets(entry).parse::<IpAddr>() {
            return Ok(self.address == Some(address));
        }
        let (host, port) = match entry.rsplit_once(':') {
            Some((host, port)) => (host, Some(port.parse::<u16>().map_err(|_| invalid())?)),
            None => (entry, None),
        };
        if port.is_some_and(|port| port != self.port) {
            return Ok(false);
        }
        if let Ok(address) = without_brackets(host).parse::<IpAddr>() {
            return Ok(self.address == Some(address));
        }
        let host = if host.starts_with("*.") { &host[1..] } else { host }.to_ascii_lowercase();
        if host.is_empty() || host.contains(|c: char| c.is_whitespace() || c == '*') {
            return Err(invalid());
        }
        // `.example.com` and `*.example.com` match subdomains only, `example.com` the domain as well.
        Ok(match host.strip_prefix('.') {
            Some(_) => self.host.ends_with(&host),
            None => self.host == host || self.host.ends_with(&format!(".{host}")),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selected(target: &str, environment: &[(&str, &str)]) -> Result<Option<String>, KubeconfigError> {
        let variable = |name: &str| {
            let found = environment.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        Ok(select_proxy(&target.parse().unwrap(), variable)?.map(|proxy| proxy.to_string()))
    }

    /// A URL, an environment, and the proxy to use.
    type Case<'a> = (&'a str, &'a [(&'a str, &'a str)], Option<&'a str>);

    /// The behaviour of kubectl 1.32, observed with listening sockets as proxies.
    #[test]
    fn variables_are_used_as_by_kubectl() {
        let (https, http) = ("https://api.example.com:6443", "http://api.example.com:8080");
        let (one, two) = ("http://one:1/", "http://two:2/");
        let table: [Case<'_>; 9] = [
            (https, &[], None),
            (https, &[("HTTPS_PROXY", "http://one:1")], Some(one)),
            (https, &[("https_proxy", "one:1")], Some(one)),
            (https, &[("https_proxy", "one:1"), ("HTTPS_PROXY", "http://two:2")], Some(two)),
            (https, &[("HTTP_PROXY", "http://one:1"), ("ALL_PROXY", "http://one:1")], None),
            (http, &[("HTTP_PROXY", "http://one:1"), ("HTTPS_PROXY", "http://two:2")], Some(one)),
            (http, &[("HTTP_PROXY", "http://one:1"), ("REQUEST_METHOD", "GET")], None),
            ("https://127.0.0.1:6443", &[("HTTPS_PROXY", "http://one:1")], None),
            ("https://LOCALHOST:6443", &[("HTTPS_PROXY", "http://one:1")], None),
        ];
        for (target, environment, expected) in table {
            assert_eq!(
                selected(target, environment).unwrap().as_deref(),
                expected,
                "{target} {environment:?}"
            );
        }
    }

    #[test]
    fn no_proxy_matches_hosts_domains_addresses_and_ranges() {
        let (name, address, six) = ("https://api.foo.com:6443", "https://10.1.2.3:6443", "https://[fd00::7]");
        let table = [
            (name, "foo.com", true),
            (name, ".foo.com", true),
            (name, "*.foo.com", true),
            (name, "FOO.com", true),
            (name, "oo.com", false),
            (name, "api.foo.com", true),
            (name, "api.foo.com:6443", true),
            (name, "api.foo.com:443", false),
            (name, "*", true),
            (name, ",,", false),
            (name, "a, b ,api.foo.com", true),
            ("https://foo.com", ".foo.com", false),
            (address, "10.0.0.0/8", true),
            (address, "10.1.2.4", false),
            (address, " foo , 10.1.2.3 ", true),
            (address, "10.1.2.3:6443", true),
            (address, "10.1.2.3:7", false),
            (six, "fd00::/8", true),
            (six, "fd00::7", true),
            (six, "[fd00::7]:443", true),
            (six, "[fd00::7]:80", false),
        ];
        for (target, list, excepted) in table {
            let environment = [("HTTPS_PROXY", "http://p:1"), ("no_proxy", list)];
            assert_eq!(selected(target, &environment).unwrap().is_none(), excepted, "{target} {list}");
        }
    }

    /// The prefix counts from the left, bits behind it are ignored, and the families are separate.
    #[test]
    fn ranges_contain_the_addresses_that_begin_like_them() {
        let table = [
            ("10.1.2.3", "10.0.0.0/8", true),
            ("11.1.2.3", "10.0.0.0/8", false),
            ("10.1.2.3", "10.255.255.255/8", true),
            ("10.1.2.3", "10.0.0.0/08", true),
            ("10.1.2.3", "010.000.000.000/8", true),
            ("10.1.2.3", " 10.0.0.0/8 ", true),
            ("10.1.2.3", "192.168.0.0/16,10.1.2.0/24", true),
            ("10.1.2.3", "10.1.2.2/31", true),
            ("10.1.2.4", "10.1.2.2/31", false),
            ("10.1.2.3", "10.1.2.3/32", true),
            ("10.1.2.2", "10.1.2.3/32", false),
            ("10.1.2.3", "0.0.0.0/0", true),
            ("10.1.2.3", "255.255.255.255/00", true),
            ("127.255.255.254", "0.0.0.0/1", true),
            ("128.0.0.1", "0.0.0.0/1", false),
            ("10.1.2.3", "::/0", false),
            ("10.1.2.3", "::ffff:10.1.2.3/128", false),
            ("10.1.2.3", "::ffff:0:0/96", false),
            ("::ffff:10.1.2.3", "10.0.0.0/8", false),
            ("::ffff:10.1.2.3", "0.0.0.0/0", false),
            ("::ffff:10.1.2.3", "::ffff:10.0.0.0/104", true),
            ("::ffff:10.1.2.3", "::ffff:010.0.0.0/104", true),
            ("::ffff:11.1.2.3", "::ffff:10.0.0.0/104", false),
            ("fd00::7", "::/0", true),
            ("fd00::7", "::/000", true),
            ("fd00::7", "fd00::/8", true),
            ("fd00::7", "FD12:3456::1/008", true),
            ("fe00::7", "fd00::/8", false),
            ("fd00::7", "fd00::6/127", true),
            ("fd00::8", "fd00::6/127", false),
            ("fd00::7", "fd00:0:0:0:0:0:0:7/128", true),
            ("fd00::6", "fd00::7/128", false),
            ("8000::1", "::/1", false),
            ("fd00::7", "0.0.0.0/0", false),
            ("api.example.com", "0.0.0.0/0,::/0", false),
        ];
        for (host, list, expected) in table {
            let destination = Destination { host: host.to_owned(), address: host.parse().ok(), port: 443 };
            assert_eq!(destination.matches_any(list), expected, "{host} {list}");
        }
    }

    #[test]
    fn a_range_is_an_address_a_slash_and_a_decimal_prefix() {
        let destination = Destination::of(&"https://10.1.2.3".parse().unwrap()).unwrap();
        for entry in [
            "/",
            "/8",
            "10.0.0.0/",
            "10.0.0.0//8",
            "10.0.0.0/8/8",
            "10.0.0.0/33",
            "10.0.0.0/008",
            "10.0.0.0/-1",
            "10.0.0.0/+8",
            "10.0.0.0/8 8",
            "10.0.0.0 /8",
            "10.0.0.0/ 8",
            "10.0.0.0/0x8",
            "10.0.0.0/a",
            "10.0.0.0/٣",
            "10.0.0.0/255.0.0.0",
            "10.0.0/8",
            "10/8",
            "10.0.0.0.0/8",
            "10..0.0/8",
            "0010.0.0.0/8",
            "256.0.0.0/8",
            "10.0.0.0:443/8",
            "10.0.0.0/8:443",
            "*/8",
            "10.0.0.*/8",
            "::/129",
            "::/0064",
            "::/-1",
            "::/+64",
            "::/",
            "[::]/0",
            "[::/0]",
            ":::/0",
            "1::2::3/64",
            "::g/64",
            "::12345/64",
            "fe80::1%eth0/64",
            "1:2:3:4:5:6:7/64",
            "1:2:3:4:5:6:7:8:9/64",
            "::10.0.0/96",
            "::10.0.0.0:1/96",
            "10.0.0.0::/96",
            "::4294967296/64",
            // `::` is at least one group.
            "1:2:3:4:5:6:7::8/64",
            "10.0.0.0/4294967304",
            "foo.com/8",
        ] {
            match destination.matches(entry) {
                Err(NoProxyError::ParseMatcher { input }) => assert_eq!(input, entry),
                other => panic!("{entry}: {other:?}"),
            }
        }
    }

    /// The behaviour of kubectl 1.37, with a proxy that cannot be connected to.
    #[test]
    fn entries_that_mean_nothing_are_ignored_and_the_others_are_used() {
        let nothing = [
            "10.*",
            "192.168.*",
            "foo.com/8",
            "http://foo.com",
            "a b",
            "*foo.com",
            "api.*.com",
            "foo.com:many",
            "10.0.0.0/99",
            ":6443",
            "[",
        ];
        for entry in nothing {
            let excepted = |list: String| {
                let environment = [("HTTPS_PROXY", "http://p:1"), ("NO_PROXY", &list)];
                selected("https://api.foo.com:6443", &environment).unwrap().is_none()
            };
            assert!(!excepted(entry.to_owned()), "{entry}");
            assert!(excepted(format!("{entry},foo.com")) && excepted(format!("foo.com,{entry}")), "{entry}");
        }
    }

    #[test]
    fn a_proxy_or_target_that_is_no_url_is_an_error() {
        let hostless = selected("/path", &[("HTTP_PROXY", "http://p:1")]);
        assert!(matches!(hostless, Err(KubeconfigError::ParseNoProxy(NoProxyError::NoHost { .. }))));
        for proxy in ["http://a b", "p:180990", "http://p:80x", "ftp://p"] {
            let invalid = selected("https://h", &[("HTTPS_PROXY", proxy)]);
            assert!(matches!(invalid, Err(KubeconfigError::ParseProxyUrl(_))), "{proxy}");
        }
    }
}
