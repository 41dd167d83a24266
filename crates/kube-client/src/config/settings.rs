//! [`Config`]: the configuration of a client, as plain data.

use std::fmt;
#[cfg(feature = "client")]
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
#[cfg(feature = "client")]
use std::sync::Arc;
use std::time::Duration;

#[cfg(feature = "client")]
use futures::future::BoxFuture;
use http::{HeaderName, HeaderValue, Uri};
#[cfg(feature = "client")]
use tower::BoxError;

use super::AuthInfo;
use super::UserOrigin;
use super::contradictions::sendable;
use super::redact::Redacted;
use super::url::{Schemes, parse_url};
use super::warnings::WarningHandler;

/// The configuration of a [`Client`](crate::Client).
///
/// Made by [`Config::infer`] or another constructor, or from a URL alone by [`Config::new`]; then changed field by field.
///
/// # Time
/// By default, connecting and the wait for a response are limited, but silence on a connection is not: a watch may be silent for minutes
/// and a shell for hours. A dead connection is detected by other means within a minute.
#[derive(Clone)]
#[non_exhaustive]
pub struct Config {
    /// URL of the API server. Its path is the prefix of every request's path. Its user and password (percent-encoded) win over all other
    /// credentials.
    pub cluster_url: Uri,
    /// Default namespace of requests.
    pub default_namespace: String,
    /// CA certificates to trust, DER; `None` for those of the platform.
    pub root_cert: Option<Vec<Vec<u8>>>,
    /// PEM file with the CA certificates to trust. Read again when it changes, and wins over `root_cert`.
    pub root_cert_file: Option<PathBuf>,
    /// Longest time to connect, TLS included. 30 s by default.
    pub connect_timeout: Option<Duration>,
    /// Longest time until the head of a response, and longest silence within its body. 55 s by default.
    ///
    /// Watches over HTTP/2, followed logs and requests through `proxy` may be silent for longer. Over HTTP/1.1, a watch ends after this
    /// much silence (see `Error::is_idle_watch`), and during a silent log or proxied request a probe asks the server whether it is alive.
    /// The project's book has the details (`book/src/reference/client.md`).
    pub response_timeout: Option<Duration>,
    /// Longest silence while something is expected from the server, whatever the request. None by default.
    pub read_timeout: Option<Duration>,
    /// Longest time that a write may make no progress. None by default.
    pub write_timeout: Option<Duration>,
    /// Whether a write resets the timer of `read_timeout`. `false` by default.
    pub reset_reader_on_write: bool,
    /// Most bytes of one object, wherever it comes from: of a response that is collected in memory before it is decoded, of an item of a
    /// list, and of an event of a watch. A larger one is an error. 256 MiB by default. As many bytes of a list's page may wait as text for
    /// the watcher that decodes it; then the server has to wait. Log streams have no limit.
    pub collect_limit: usize,
    /// Accept any server certificate. `false` by default. Insecure: anyone between client and server can read and change the traffic.
    pub accept_invalid_certs: bool,
    /// The credentials.
    pub auth_info: AuthInfo,
    /// Longest time that an exec plugin may run if it cannot talk to the user: with `interactiveMode: Never`, or without a terminal. 60 s
    /// by default; `None` is unlimited.
    pub exec_timeout: Option<Duration>,
    /// Whether to request responses without compression. `false` by default.
    pub disable_compression: bool,
    /// URL of the proxy: `http://`, `https://` (feature `http-proxy`) or `socks5://` (feature `socks5`), with user and password
    /// (percent-encoded) if the proxy requires them. An HTTP proxy has to allow CONNECT to the server. The proxy resolves the server's
    /// name.
    ///
    /// The certificate of an https proxy has to verify against the cluster's CA certificates or the public ones.
    pub proxy_url: Option<Uri>,
    /// Name to expect in the server's certificate instead of the URL's host.
    pub tls_server_name: Option<String>,
    /// Headers to add to every request. `Debug` shows only their names.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// Whether to retry requests that the server refuses with `Retry-After`. `true` by default.
    pub default_retry: bool,
    /// Receives the warnings that the server sends with its responses: deprecated versions, unknown fields. Logs each once by default.
    pub warning_handler: WarningHandler,
    /// The file of `auth_info`, where new tokens of an auth provider are saved.
    pub(crate) user_origin: Option<UserOrigin>,
    /// Where it was read.
    #[cfg(feature = "client")]
    pub(crate) origin: Origin,
    /// Whether its clients follow that.
    #[cfg(feature = "client")]
    pub(crate) follows: bool,
}

impl Config {
    /// The defaults for the API server at `cluster_url`: no credentials, namespace `default`, the platform's CA certificates.
    ///
    /// ```
    /// let mut config = kube_client::Config::new("https://localhost:6443".parse().unwrap());
    /// config.accept_invalid_certs = true;
    /// assert_eq!(config.default_namespace, "default");
    /// ```
    pub fn new(cluster_url: Uri) -> Self {
        Self::with_user(cluster_url, AuthInfo::default())
    }

    pub(super) fn with_user(cluster_url: Uri, auth_info: AuthInfo) -> Self {
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
            auth_info,
            exec_timeout: Some(DEFAULT_EXEC_TIMEOUT),
            disable_compression: false,
            proxy_url: None,
            tls_server_name: None,
            headers: Vec::new(),
            default_retry: true,
            warning_handler: WarningHandler::default(),
            user_origin: None,
            #[cfg(feature = "client")]
            origin: Origin::default(),
            #[cfg(feature = "client")]
            follows: false,
        }
    }

    /// Applies the debugging overrides of the environment: `KUBE_RS_DEBUG_IMPERSONATE_USER`,
    /// `KUBE_RS_DEBUG_IMPERSONATE_GROUP` and `KUBE_RS_DEBUG_OVERRIDE_URL`.
    ///
    /// No constructor calls this: a program opts in. A URL that does not parse is logged and ignored, and so is a group without a user to
    /// impersonate. To a URL with `http://` and another host than this machine, no credential is sent.
    pub fn apply_debug_overrides(&mut self) {
        self.apply_overrides(|name| std::env::var(name).ok());
    }

    fn apply_overrides(&mut self, variable: impl Fn(&str) -> Option<String>) {
        if let Some(user) = variable("KUBE_RS_DEBUG_IMPERSONATE_USER") {
            self.auth_info.impersonate = Some(user);
        }
        if let Some(group) = variable("KUBE_RS_DEBUG_IMPERSONATE_GROUP") {
            match self.auth_info.impersonate {
                Some(_) => self.auth_info.impersonate_groups = Some(vec![group]),
                None => {
                    tracing::warn!(
                        "KUBE_RS_DEBUG_IMPERSONATE_GROUP is ignored: there is no user to impersonate"
                    );
                }
            }
        }
        if let Some(url) = variable("KUBE_RS_DEBUG_OVERRIDE_URL") {
            match parse_url(&url, Schemes::Http) {
                Ok(url) => {
                    self.auth_info = sendable(std::mem::take(&mut self.auth_info), &url);
                    self.cluster_url = url;
                }
                Err(err) => {
                    tracing::warn!(url = %Redacted::Text(&url), error = %err, "KUBE_RS_DEBUG_OVERRIDE_URL is not a URL and is ignored");
                }
            }
        }
    }
}

/// Where a configuration comes from.
#[cfg(feature = "client")]
#[derive(Clone, Debug, Default)]
pub(crate) enum Origin {
    /// The program made it.
    #[default]
    Program,
    /// A pod's service account, whose files are read again by what uses them.
    Pod,
    /// It is only read, so a panic leaves nothing behind in it.
    Source(Arc<AssertUnwindSafe<ReadFrom>>),
}

/// What was read, and where.
#[cfg(feature = "client")]
#[derive(Debug)]
pub(crate) struct ReadFrom {
    pub(crate) source: Box<dyn ConfigSource>,
    /// Before the program changed it.
    pub(crate) as_read: Config,
}

/// Where a configuration can be read again. `{}` is its name.
#[cfg(feature = "client")]
pub(crate) trait ConfigSource: fmt::Debug + fmt::Display + Send + Sync {
    /// Observes changes since the configuration was read.
    fn observe(&self) -> Box<dyn ObservedSource>;

    /// The longest time between two reads that requests have asked for and that change nothing.
    fn longest_pause(&self) -> Duration;

    /// Whether who writes it is less trusted than the program.
    fn is_untrusted(&self) -> bool;
}

/// A source, and what was read of it last.
#[cfg(feature = "client")]
pub(crate) trait ObservedSource: Send {
    /// Waits until the source may have changed. Dropping the future loses nothing.
    fn may_have_changed(&mut self) -> BoxFuture<'_, ()>;

    /// Reads it; `None` if it is known not to have changed since it was read successfully.
    fn read(&mut self) -> BoxFuture<'_, Option<Result<Config, BoxError>>>;

    /// What was read last could not be used: it is to be read again, although it has not changed.
    fn not_used(&mut self);
}

/// Longer time limits are cut to ten years: users write `Duration::MAX` for "never", and adding that to an instant overflows.
#[cfg(feature = "client")]
pub(crate) const MAX_DELAY: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);

/// The default namespace if the context has none.
pub(crate) const DEFAULT_NAMESPACE: &str = "default";

/// Larger than any object, discovery document or log that a program would collect; stops a response that never ends.
pub(crate) const DEFAULT_COLLECT_LIMIT: usize = 256 << 20;

const DEFAULT_CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// API servers end a call after 60 s themselves; a caller should learn of a silent server within a minute.
const DEFAULT_RESPONSE_TIMEOUT: Duration = Duration::from_secs(55);

/// Enough for a request or two over a slow network.
const DEFAULT_EXEC_TIMEOUT: Duration = Duration::from_secs(60);

/// Shows no credentials.
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
            .field("user_origin", &self.user_origin)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_output_has_no_proxy_password() {
        let mut config = Config::new("https://a".parse().unwrap());
        config.proxy_url = Some("http://me:hush@proxy:3128".parse().unwrap());
        let shown = format!("{config:?}");
        assert!(shown.contains("http://proxy:3128/") && !shown.contains("hush"), "{shown}");
    }

    #[test]
    fn overrides_are_applied_and_an_invalid_url_is_ignored() {
        let mut config = Config::new("https://a".parse().unwrap());
        config.apply_overrides(|name| match name {
            "KUBE_RS_DEBUG_IMPERSONATE_USER" => Some("jane".into()),
            "KUBE_RS_DEBUG_IMPERSONATE_GROUP" => Some("ops".into()),
            _ => Some("not a url".into()),
        });
        assert_eq!(config.auth_info.impersonate.as_deref(), Some("jane"));
        assert_eq!(config.auth_info.impersonate_groups, Some(vec!["ops".to_owned()]));
        assert_eq!(config.cluster_url, "https://a/");
        config.apply_overrides(|name| name.ends_with("URL").then(|| "https://b:80x".into()));
        assert_eq!(config.cluster_url, "https://a/");
        config.apply_overrides(|name| name.ends_with("URL").then(|| "http://b:1".into()));
        assert_eq!(config.cluster_url, "http://b:1/");
    }

    #[test]
    fn an_override_neither_sends_credentials_over_http_nor_impersonates_a_group_alone() {
        let token = || AuthInfo { token: Some("t".to_owned().into()), ..AuthInfo::default() };
        let mut config = Config::with_user("https://a".parse().unwrap(), token());
        config.apply_overrides(|name| name.ends_with("URL").then(|| "http://127.0.0.1:1".into()));
        assert!(config.auth_info.token.is_some());
        config.apply_overrides(|name| name.ends_with("URL").then(|| "http://b:1".into()));
        assert!(config.auth_info.token.is_none());
        config.apply_overrides(|name| name.ends_with("GROUP").then(|| "ops".into()));
        assert_eq!(config.auth_info.impersonate_groups, None);
    }

    #[test]
    fn debug_output_has_every_part_of_a_port_and_no_password() {
        let shown = |url: &str| format!("{:?}", Config::new(url.parse().unwrap()));
        assert!(shown("https://h:180990").contains("\"https://h:180990/\""));
        assert!(shown("https://me:hush@h:80x").contains("\"https://h:80x/\""));
        for url in ["https://me:1/hush@h", "https://me:1?hush@h", "https://me:hush?hush@h"] {
            assert!(!shown(url).contains("hush"), "{}", shown(url));
        }
    }
}
