//! Where a webhook is: host, path, and the certificates that verify it.

use std::fmt;

use http::Uri;

/// The address of a webhook and the CA certificates that verify it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    /// The host to connect to.
    pub(crate) host: String,
    pub(crate) port: u16,
    /// The name that the certificate is verified against.
    pub(crate) server_name: String,
    /// Path and query.
    pub(crate) path: String,
    /// PEM. Without it, no certificate is trusted: system roots are not used.
    pub(crate) ca_bundle: Vec<u8>,
}

impl Target {
    /// The address in a URL.
    pub(crate) fn of_url(url: &str, ca_bundle: Vec<u8>) -> Result<Self, String> {
        let uri: Uri = url.parse().map_err(|why| format!("invalid URL {url:?}: {why}"))?;
        let host = uri.host().unwrap_or_default().trim_matches(['[', ']']).to_string();
        let path = uri.path_and_query().map_or("/", |path| path.as_str()).to_string();
        let port = uri.port_u16().unwrap_or(443);
        Ok(Self { server_name: host.clone(), host, port, path, ca_bundle })
    }

    /// Where a redirect leads: a path on the same host, or a URL.
    pub(crate) fn moved(self, location: &str) -> Result<Self, String> {
        if location.starts_with('/') && !location.starts_with("//") {
            return Ok(Self { path: location.into(), ..self });
        }
        Self::of_url(location, self.ca_bundle)
    }

    /// The same target with the timeout in its query.
    #[must_use]
    pub(crate) fn within(self, seconds: u64) -> Self {
        Self { path: path_within(&self.path, seconds), ..self }
    }
}

/// A path with the timeout in its query.
pub(super) fn path_within(path: &str, seconds: u64) -> String {
    let glue = if path.contains('?') { '&' } else { '?' };
    format!("{path}{glue}timeout={seconds}s")
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "https://{}:{}{}", self.server_name, self.port, self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirects_lead_to_a_path_or_to_another_host() {
        let target = Target::of_url("https://a.b:8443//validate", vec![1]).unwrap();
        assert_eq!(target.clone().moved("/validate?x").unwrap().to_string(), "https://a.b:8443/validate?x");
        let other = target.clone().moved("https://c/d").unwrap();
        assert_eq!((other.to_string(), other.ca_bundle), ("https://c:443/d".into(), vec![1]));
        assert!(target.moved("https://[").is_err());
    }
}
