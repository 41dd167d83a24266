//! [`Config`]: the settings of a client, as plain data.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use http::{HeaderName, HeaderValue, Uri};

use super::AuthInfo;
use super::secrets::Redacted;

/// Everything a [`Client`](crate::Client) needs to know about its cluster.
///
/// Built by [`Config::infer`] or one of its siblings, or from a URL alone by [`Config::new`]; then changed field by field.
///
/// # Time
/// Connecting and the wait for an answer are limited by default, silence on a connection is not: a watch is silent for minutes and a
/// shell for hours, and a connection that went dead is noticed by other means within a minute.
#[derive(Clone)]
#[non_exhaustive]
pub struct Config {
    /// URL of the API server. A path in it stands before the path of every request; a user and password in it (percent-encoded) are
    /// the credentials to use, before all others.
    pub cluster_url: Uri,
    /// Namespace where none is asked for.
    pub default_namespace: String,
    /// DER certificates of the authorities to trust; without any, those of the platform.
    pub root_cert: Option<Vec<Vec<u8>>>,
    /// PEM file with the authorities to trust. Read again when it changes, and wins over `root_cert`.
    pub root_cert_file: Option<PathBuf>,
    /// Longest time to connect, TLS included. 30 s by default.
    pub connect_timeout: Option<Duration>,
    /// Longest time until the head of an answer, and longest silence within the answer to a call. 55 s by default.
    ///
    /// Watches over HTTP/2, logs that are followed and requests through `proxy` may be quiet for longer. Over HTTP/1.1, a watch ends after so
    /// much silence (see `Error::is_idle_watch`), and a quiet log or proxied request has the server asked
    /// whether it is there; the project's `docs/client.md` says it all.
    pub response_timeout: Option<Duration>,
    /// Longest silence while something is expected from the server, whatever the request. None by default.
    pub read_timeout: Option<Duration>,
    /// Longest time that a write may be stuck. None by default.
    pub write_timeout: Option<Duration>,
    /// Whether a write starts the time of `read_timeout` anew. No by default.
    pub reset_reader_on_write: bool,
    /// How many bytes of an answer are collected in memory before it is decoded, at most; more is an error. 256 MiB by default. Lists and
    /// watches are decoded as they come and logs can be read as they come, so that it does not concern them.
    pub collect_limit: usize,
    /// Accept any server certificate. No by default; leaves the connection open to anyone in between.
    pub accept_invalid_certs: bool,
    /// The credentials.
    pub auth_info: AuthInfo,
    /// Longest time that a credential program may take. 60 s by default; `None` is for ever.
    pub exec_timeout: Option<Duration>,
    /// Whether to ask for answers without compression. No by default.
    pub disable_compression: bool,
    /// Proxy to go through: `http://`, `https://` (features `http-proxy`) or `socks5://` (feature `socks5`), with the user and password for it
    /// if it wants them, percent-encoded. It has to allow CONNECT to the server, and resolves the server's name.
    ///
    /// An https proxy is trusted if the cluster's authorities or the public ones vouch for it.
    pub proxy_url: Option<Uri>,
    /// Name to expect in the server's certificate instead of the URL's host.
    pub tls_server_name: Option<String>,
    /// Headers to add to every request. `Debug` shows their names alone.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// Whether requests that the server asks to repeat later are repeated. Yes by default.
    pub default_retry: bool,
}

impl Config {
    /// The defaults for the API server at `cluster_url`: no credentials, namespace `default`, the platform's authorities.
    ///
    /// ```
    /// let mut config = kube_client::Config::new("https://localhost:6443".parse().unwrap());
    /// config.accept_invalid_certs = true;
    /// assert_eq!(config.default_namespace, "default");
    /// ```
    pub fn new(cluster_url: Uri) -> Self {
        Self {
            cluster_url,
            default_namespace: DEFAULT_NAMESPACE.to_owned(),
            root_cert: None,
            root_cert_file: None,
            connect_timeout: Some(DEFAULT_CONNECT_TIMEOUT),
            response_timeout: Some(DEFAULT_RESPONSE_TIMEOUT),
            read_timeout: None,
            write_timeout: None,
            reset_reader_on_write: false,
            collect_limit: DEFAULT_COLLECT_LIMIT,
            accept_invalid_certs: false,
            auth_info: AuthInfo::default(),
            exec_timeout: Some(DEFAULT_EXEC_TIMEOUT),
            disable_compression: false,
            proxy_url: None,
            tls_server_name: None,
            headers: Vec::new(),
            default_retry: true,
        }
    }

    /// Applies what the environment asks for while debugging: `KUBE_RS_DEBUG_IMPERSONATE_USER`,
    /// `KUBE_RS_DEBUG_IMPERSONATE_GROUP` and `KUBE_RS_DEBUG_OVERRIDE_URL`.
    ///
    /// Nothing calls this by itself: a program opts in. A URL that does not parse is logged and left out.
    pub fn apply_debug_overrides(&mut self) {
        self.apply_overrides(|name| std::env::var(name).ok());
    }

    fn apply_overrides(&mut self, variable: impl Fn(&str) -> Option<String>) {
        if let Some(user) = variable("KUBE_RS_DEBUG_IMPERSONATE_USER") {
            self.auth_info.impersonate = Some(user);
        }
        if let Some(group) = variable("KUBE_RS_DEBUG_IMPERSONATE_GROUP") {
            self.auth_info.impersonate_groups = Some(vec![group]);
        }
        if let Some(url) = variable("KUBE_RS_DEBUG_OVERRIDE_URL") {
            match url.parse() {
                Ok(url) => self.cluster_url = url,
                Err(err) => {
                    tracing::warn!(url = %Redacted::Text(&url), error = %err, "KUBE_RS_DEBUG_OVERRIDE_URL is not a URL and is ignored");
                }
            }
        }
    }
}

/// The namespace where neither the context nor the pod names one.
pub(super) const DEFAULT_NAMESPACE: &str = "default";

/// No object, discovery document or text of a log that fits into memory comes near it; an answer that never ends would.
pub(crate) const DEFAULT_COLLECT_LIMIT: usize = 256 << 20;

const DEFAULT_CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// API servers give up on a call after 60 s themselves, and whoever waits for one that fell silent should know within a minute.
const DEFAULT_RESPONSE_TIMEOUT: Duration = Duration::from_secs(55);

/// A person may be typing a password meanwhile, but not for ever.
const DEFAULT_EXEC_TIMEOUT: Duration = Duration::from_secs(60);

/// Credentials do not show, wherever they stand.
impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config")
            .field("cluster_url", &Redacted::Url(&self.cluster_url))
            .field("default_namespace", &self.default_namespace)
            .field("root_cert", &self.root_cert.as_ref().map(Vec::len))
            .field("root_cert_file", &self.root_cert_file)
            .field("connect_timeout", &self.connect_timeout)
            .field("response_timeout", &self.response_timeout)
            .field("read_timeout", &self.read_timeout)
            .field("write_timeout", &self.write_timeout)
            .field("reset_reader_on_write", &self.reset_reader_on_write)
            .field("collect_limit", &self.collect_limit)
            .field("accept_invalid_certs", &self.accept_invalid_certs)
            .field("auth_info", &self.auth_info)
            .field("exec_timeout", &self.exec_timeout)
            .field("disable_compression", &self.disable_compression)
            .field("proxy_url", &self.proxy_url.as_ref().map(Redacted::Url))
            .field("tls_server_name", &self.tls_server_name)
            .field("headers", &self.headers.iter().map(|(name, _)| name).collect::<Vec<_>>())
            .field("default_retry", &self.default_retry)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_password_of_a_proxy_does_not_show() {
        let mut config = Config::new("https://a".parse().unwrap());
        config.proxy_url = Some("http://me:hush@proxy:3128".parse().unwrap());
        let shown = format!("{config:?}");
        assert!(shown.contains("http://proxy:3128/") && !shown.contains("hush"), "{shown}");
    }

    #[test]
    fn overrides_come_from_the_environment_and_a_bad_url_is_ignored() {
        let mut config = Config::new("https://a".parse().unwrap());
        config.apply_overrides(|name| match name {
            "KUBE_RS_DEBUG_IMPERSONATE_USER" => Some("jane".into()),
            "KUBE_RS_DEBUG_IMPERSONATE_GROUP" => Some("ops".into()),
            _ => Some("not a url".into()),
        });
        assert_eq!(config.auth_info.impersonate.as_deref(), Some("jane"));
        assert_eq!(config.auth_info.impersonate_groups, Some(vec!["ops".to_owned()]));
        assert_eq!(config.cluster_url, "https://a/");
        config.apply_overrides(|name| name.ends_with("URL").then(|| "http://b:1".into()));
        assert_eq!(config.cluster_url, "http://b:1/");
    }
}
