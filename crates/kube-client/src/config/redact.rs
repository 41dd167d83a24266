//! Prints URLs, arguments and maps without the credentials that they may contain.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use http::{Uri, uri};

use super::url::{host_and_port, may_be_user};

/// Printed in place of a secret.
pub(crate) const REDACTED: &str = "REDACTED";

/// A URL as it may be printed: without user and password, and without values of query parameters that may be secrets.
///
/// An unescaped `#` ends a `Uri`, so that a password with one looks like a port. If that is no number, nothing but the scheme is printed;
/// the digits of `https://user:12#34@host` cannot be told from a port.
#[derive(Clone, Copy)]
pub(crate) enum Redacted<'a> {
    Url(&'a Uri),
    /// Text that should be a URL.
    Text(&'a str),
}

impl fmt::Display for Redacted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url(url) if may_be_user(url) => write_origin(url, f),
            Self::Url(url) => Redacted::Text(&url.to_string()).fmt(f),
            Self::Text(text) => match text.parse::<Uri>() {
                Ok(url) if is_in_authority(text.rfind('@'), &url, text) => {
                    write_authority(&url, host_and_port(&url), f)?;
                    f.write_str(url.path())?;
                    write_query(&url, f)
                }
                // Where a password with `/`, `?` or `#` ends is unknown: all up to the last @ is removed, and the query.
                _ => {
                    let (scheme, rest) = text.split_once("://").unwrap_or(("", text));
                    let separator = if scheme.is_empty() { "" } else { "://" };
                    let rest = rest.rsplit('@').next().unwrap_or_default();
                    write!(f, "{scheme}{separator}{}", rest.split('?').next().unwrap_or_default())
                }
            },
        }
    }
}

impl fmt::Debug for Redacted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

/// Whether the last @ of `text`, if it has one, ends user and password of `url`, which was parsed from it.
fn is_in_authority(last_at: Option<usize>, url: &Uri, text: &str) -> bool {
    let Some(last_at) = last_at else { return true };
    let start = text.find("://").map_or(0, |at| at + 3);
    url.authority().is_some_and(|authority| last_at < start + authority.as_str().len())
}

/// Writes scheme, host and port of a URL as they are, as far as it has them.
pub(crate) fn write_origin(url: &Uri, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write_authority(url, shown_host_and_port(url), f)
}

fn write_authority(url: &Uri, host_and_port: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if let (Some(scheme), Some(_)) = (url.scheme_str(), url.authority()) {
        write!(f, "{scheme}://")?;
    }
    f.write_str(host_and_port)
}

/// Host and port of a URL, unless they may be user and password.
fn shown_host_and_port(url: &Uri) -> &str {
    if may_be_user(url) { REDACTED } else { host_and_port(url) }
}

/// Writes the query of a URL with its question mark, without values that may be secrets. The command of an exec may contain passwords.
pub(crate) fn write_query(url: &Uri, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut separator = '?';
    for pair in url.query().into_iter().flat_map(|query| query.split('&')) {
        match pair.split_once('=') {
            Some((name, _)) if name == "command" || is_secret_name(name) => {
                write!(f, "{separator}{name}={REDACTED}")?;
            }
            _ => write!(f, "{separator}{pair}")?,
        }
        separator = '&';
    }
    Ok(())
}

/// The URL without user and password. [`check_url`](super::check_url) refuses one in which they may look like host and port; its host is
/// replaced.
pub(crate) fn without_user(url: &Uri) -> Uri {
    let mut parts = url.clone().into_parts();
    if parts.authority.is_some() {
        parts.authority = shown_host_and_port(url).parse::<uri::Authority>().ok();
    }
    Uri::from_parts(parts).unwrap_or_default()
}

/// The URL without user, password and query.
pub(crate) fn without_credentials(url: &Uri) -> Uri {
    let mut parts = without_user(url).into_parts();
    if url.query().is_some() {
        parts.path_and_query = url.path().parse().ok();
    }
    Uri::from_parts(parts).unwrap_or_default()
}

/// The scheme, host and port of a URL, which are all that a connection to it needs.
#[cfg(feature = "client")]
pub(crate) fn origin_of(url: &Uri) -> Uri {
    let mut parts = without_user(url).into_parts();
    parts.path_and_query = parts.scheme.as_ref().map(|_| uri::PathAndQuery::from_static("/"));
    Uri::from_parts(parts).unwrap_or_default()
}

/// Host and port of a URL, as they appear in errors.
#[cfg(feature = "client")]
pub(crate) fn host_of(url: &Uri) -> String {
    shown_host_and_port(url).to_owned()
}

/// User and password of a URL, percent-decoded.
#[cfg(feature = "client")]
pub(crate) fn credentials_of(url: &Uri) -> Option<(String, String)> {
    let (credentials, _) = url.authority()?.as_str().rsplit_once('@')?;
    let (user, password) = credentials.split_once(':').unwrap_or((credentials, ""));
    let decoded = |text| percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned();
    Some((decoded(user), decoded(password)))
}

/// The arguments of a program as they may be printed: `--client-secret=REDACTED`, `--token REDACTED`.
#[cfg_attr(not(feature = "client"), allow(dead_code, reason = "only the client runs programs"))]
pub(crate) fn redacted_args(args: &[String]) -> Vec<Cow<'_, str>> {
    let mut secret_follows = false;
    let redacted = |arg: &'_ String| {
        let is_flag = arg.starts_with('-');
        if std::mem::take(&mut secret_follows) && !is_flag {
            return REDACTED.into();
        }
        match arg.split_once('=') {
            Some((flag, _)) if is_flag && is_secret_name(flag) => format!("{flag}={REDACTED}").into(),
            _ => {
                secret_follows = is_flag && is_secret_name(arg);
                arg.clone().into()
            }
        }
    };
    args.iter().map(redacted).collect()
}

/// Whether a flag or query parameter of this name is likely to be a secret. Rather true than false.
fn is_secret_name(name: &str) -> bool {
    const PARTS: [&str; 11] = [
        "token",
        "secret",
        "passw",
        "passphrase",
        "credential",
        "signature",
        "apikey",
        "api-key",
        "api_key",
        "private",
        "assertion",
    ];
    const NAMES: [&str; 6] = ["key", "sig", "pwd", "code", "auth", "authorization"];
    let name = name.trim_start_matches('-').to_ascii_lowercase();
    PARTS.iter().any(|part| name.contains(part)) || NAMES.contains(&name.as_str())
}

/// The error of a deserializer without the value that it quotes: a misplaced token must not appear in a log.
pub(crate) fn without_quoted_value<E: serde::de::Error>(err: E) -> E {
    match without_values(&err.to_string()) {
        Cow::Borrowed(_) => err,
        Cow::Owned(text) => E::custom(text),
    }
}

/// The text of a serde error without the value that it quotes.
fn without_values(error: &str) -> Cow<'_, str> {
    const END: &str = ", expected ";
    for start in ["invalid type: ", "invalid value: "] {
        let Some(from) = error.find(start).map(|at| at + start.len()) else { continue };
        let Some(to) = error.rfind(END).filter(|to| *to >= from) else { continue };
        // `string "hush"` becomes `string`.
        let kept = error[from..to].find(['"', '`']).unwrap_or(to - from);
        return format!("{}{}{}", &error[..from], error[from..from + kept].trim_end(), &error[to..]).into();
    }
    error.into()
}

/// Prints the keys of a map whose values may be secret.
pub(crate) struct Keys<'a, V>(pub(crate) &'a BTreeMap<String, V>);

impl<V> fmt::Debug for Keys<'_, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redacted_urls_have_no_secrets() {
        for (url, shown) in [
            ("https://me:hush@h:6443/k8s?a=1&b", "https://h:6443/k8s?a=1&b"),
            (
                "https://h/?token=hush&limit=5&X-Amz-Signature=hush",
                "https://h/?token=REDACTED&limit=5&X-Amz-Signature=REDACTED",
            ),
            (
                "/exec?command=login&stdin=true&command=hush",
                "/exec?command=REDACTED&stdin=true&command=REDACTED",
            ),
            ("https://me@[::1]:1", "https://[::1]:1/"),
            ("me:hush@h:1", "h:1"),
        ] {
            assert_eq!(Redacted::Url(&url.parse().unwrap()).to_string(), shown);
            assert_eq!(Redacted::Text(url).to_string(), shown);
        }
        assert_eq!(Redacted::Text("https://me:a b/hush@h x?hush").to_string(), "https://h x");
        assert_eq!(Redacted::Text("https://me:1/hush@h/x").to_string(), "https://h/x");
        for url in
            ["https://me:1?hush@h/x", "https://me:1#hush@h/x", "https://me:hush#hush@h/x", "me:hush?hush@h/x"]
        {
            let shown = Redacted::Text(url).to_string();
            assert!(shown.ends_with("h/x") && !shown.contains("hush"), "{shown}");
        }
        assert_eq!(Redacted::Text("https://h:180990/x").to_string(), "https://h:180990/x");
        // A `Uri` has no fragment: what was behind it is lost, and so is the @ that ended the password.
        for url in ["https://me:zq#zr@h", "socks5://me:zq#zr@h:1", "https://me:1zq#zr@h"] {
            let shown = [Redacted::Url(&url.parse().unwrap()).to_string(), Redacted::Text(url).to_string()];
            assert!(!shown.concat().contains(['q', 'r']), "{shown:?}");
            let url: Uri = url.parse().unwrap();
            let shown = format!(
                "{} {} {} {}",
                host_of(&url),
                origin_of(&url),
                without_credentials(&url),
                without_user(&url)
            );
            assert!(!shown.contains("zq"), "{shown}");
        }
        assert_eq!(Redacted::Text("").to_string(), "");
        assert_eq!(format!("{:?}", Redacted::Text("http://a:b@h")), "\"http://h/\"");
    }

    #[test]
    fn credentials_of_a_url_are_removed_and_decoded() {
        let of = |url: &str| credentials_of(&url.parse().unwrap());
        assert_eq!(of("http://me:p%40ss%3A@h:1"), Some(("me".into(), "p@ss:".into())));
        assert_eq!(of("http://me@h"), Some(("me".into(), String::new())));
        assert_eq!(of("http://h"), None);
        let without = |url: &str| without_credentials(&url.parse().unwrap()).to_string();
        assert_eq!(without("http://me:hush@h:1/x?token=hush"), "http://h:1/x");
        assert_eq!(without("socks5://h"), "socks5://h/");
        let origin = |url: &str| origin_of(&url.parse().unwrap()).to_string();
        assert_eq!(origin("http://me:1/hush@h?x"), "http://me:1/");
        assert_eq!((origin("socks5://a:b@h:2"), origin("h:1")), ("socks5://h:2/".into(), "h:1".into()));
        assert_eq!(host_of(&"https://a:b@[::1]:1/x".parse().unwrap()), "[::1]:1");
    }

    #[test]
    fn redacted_arguments_have_no_secrets() {
        let args =
            ["get-token", "--oidc-client-secret=hush", "-v=1", "--password", "hush", "--token", "--last"];
        let shown = redacted_args(&args.map(str::to_owned)).join(" ");
        assert_eq!(shown, "get-token --oidc-client-secret=REDACTED -v=1 --password REDACTED --token --last");
    }

    #[test]
    fn redacted_serde_errors_have_no_values() {
        for (error, shown) in [
            (
                "invalid type: string \"hush, expected x\", expected a map at line 1",
                "invalid type: string, expected a map at line 1",
            ),
            ("a: invalid value: integer `5`, expected a bool", "a: invalid value: integer, expected a bool"),
            ("invalid type: map, expected a string", "invalid type: map, expected a string"),
        ] {
            assert_eq!(without_values(error), shown);
        }
    }
}
