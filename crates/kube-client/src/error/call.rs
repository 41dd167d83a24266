//! [`enum@Error`], which every call returns, and the error of discovery.

use kube_core::Status;
use thiserror::Error;

use super::conflict::FieldConflict;

#[cfg(feature = "client")]
use super::erased::Erased;
#[cfg(feature = "client")]
use crate::auth::AuthError;
use crate::chain::ErrorChain;
#[cfg(feature = "client")]
use crate::chain::hint;
use crate::config::{InferConfigError, KubeconfigError};
#[cfg(feature = "client")]
use crate::connect::ConnectError;
#[cfg(feature = "client")]
use crate::tls::TlsError;

/// Why a call failed.
///
/// `{}` prints the causes as well, in one line; they are also in [`source`](std::error::Error::source). To print an error that wraps this
/// one, use [`ErrorChain`].
#[derive(Debug, Error)]
pub enum Error {
    /// The server responded with an error: its code, reason and message.
    #[error(transparent)]
    Api(Box<Status>),

    /// The connection failed while a response was awaited or read.
    #[cfg(feature = "client")]
    #[error("the connection to the API server failed: {}", ErrorChain(.0))]
    HyperError(#[source] hyper::Error),

    /// The request could not be sent, or there was no response: no connection, a failed handshake, a timeout or another error of a layer.
    #[cfg(feature = "client")]
    #[error("ServiceError: {}{}", ErrorChain(.0.as_ref()), hint(.0.as_ref()))]
    Service(#[source] tower::BoxError),

    /// A proxy of a kind whose feature is not enabled.
    #[error("configured proxy {proxy_url} requires the disabled feature {protocol_feature:?}")]
    ProxyProtocolDisabled {
        /// The configured proxy.
        proxy_url: Box<http::Uri>,
        /// The feature to enable.
        protocol_feature: &'static str,
    },

    /// A proxy of an unknown kind.
    #[error("the proxy {proxy_url} is of an unknown kind: expected http://, https:// or socks5://")]
    ProxyProtocolUnsupported {
        /// The configured proxy.
        proxy_url: Box<http::Uri>,
    },

    /// The response is text, but not UTF-8.
    #[error("UTF-8 Error: {}", ErrorChain(.0))]
    FromUtf8(#[source] std::string::FromUtf8Error),

    /// An event of a watch is larger than one object may be: `Config::collect_limit`, 256 MiB by default.
    #[error("an event of the watch is larger than one object may be (`collect_limit` of the configuration)")]
    LinesCodecMaxLineLengthExceeded,

    /// The body of a watch ended with an error.
    #[error("Error reading events stream: {}", ErrorChain(.0))]
    ReadEvents(#[source] std::io::Error),

    /// The request is not valid HTTP.
    #[error("not a valid HTTP request: {}", ErrorChain(.0))]
    HttpError(#[source] http::Error),

    /// An object could not be encoded, or a response could not be decoded.
    #[error("JSON that does not match the type: {}", ErrorChain(.0))]
    SerdeError(#[source] serde_json::Error),

    /// The request could not be built from its parameters.
    #[error("Failed to build request: {}", ErrorChain(.0))]
    BuildRequest(#[source] kube_core::request::Error),

    /// No configuration was found.
    #[error("Failed to infer configuration: {}", ErrorChain(.0))]
    InferConfig(#[source] InferConfigError),

    /// Discovery did not find the group, version, kind or resource.
    #[error("Error from discovery: {}", ErrorChain(.0))]
    Discovery(#[source] DiscoveryError),

    /// The kubeconfig cannot be used.
    #[error("Failed to infer provided configuration: {}", ErrorChain(.0))]
    InferKubeconfig(#[source] KubeconfigError),

    /// The URL of the cluster or of its proxy is https, and no TLS feature is enabled.
    #[error(
        "the URL of the cluster or of its proxy is https: enable the feature `rustls-tls` or `openssl-tls` of kube"
    )]
    TlsRequired,

    /// TLS could not be set up.
    #[cfg(feature = "rustls-tls")]
    #[error("rustls tls error: {}", ErrorChain(.0))]
    RustlsTls(#[source] crate::tls::RustlsTlsError),

    /// TLS could not be set up.
    #[cfg(feature = "openssl-tls")]
    #[error("TLS cannot be set up: {}", ErrorChain(.0))]
    OpensslTls(#[source] crate::tls::OpensslTlsError),

    /// The credentials could not be obtained.
    #[cfg(feature = "client")]
    #[error("auth error: {}", ErrorChain(.0))]
    Auth(#[source] AuthError),

    /// The connection could not be upgraded to a websocket.
    #[cfg(feature = "ws")]
    #[error("failed to upgrade to a WebSocket connection: {}", ErrorChain(.0))]
    UpgradeConnection(#[source] crate::websocket::UpgradeConnectionError),

    /// A reference to an object could not be resolved.
    #[cfg(feature = "unstable-client")]
    #[error("Reference resolve error: {0}")]
    RefResolve(String),
}

impl Error {
    /// The fields of other managers for which the server refused an apply, in the order of the response. Empty for all other errors,
    /// also for a conflict because the object has changed meanwhile.
    ///
    /// ```
    /// use kube_client::{Error, core::Status};
    ///
    /// let status: Status = serde_json::from_str(
    ///     r#"{"status": "Failure", "reason": "Conflict", "code": 409, "details": {"causes": [{
    ///         "reason": "FieldManagerConflict", "message": "conflict with \"kubectl\" using apps/v1", "field": ".spec.replicas"}]}}"#,
    /// )?;
    /// let refused = Error::Api(status.boxed());
    /// let owners: Vec<_> = refused.field_conflicts().iter().map(|it| (it.manager_name(), it.field.clone())).collect();
    /// assert_eq!(owners, [("kubectl".to_owned(), ".spec.replicas".to_owned())]);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn field_conflicts(&self) -> Vec<FieldConflict> {
        match self {
            Self::Api(status) => FieldConflict::of(status),
            _ => Vec::new(),
        }
    }
}

/// An [`enum@Error`] behind a trait object: see [`Erased`].
#[cfg(feature = "client")]
#[doc(hidden)]
pub type ErasedError = Erased<Error>;

#[cfg(feature = "client")]
impl From<Error> for ErasedError {
    fn from(error: Error) -> Self {
        Self::new(error)
    }
}

impl From<KubeconfigError> for Error {
    fn from(err: KubeconfigError) -> Self {
        Self::InferKubeconfig(err)
    }
}

#[cfg(feature = "client")]
impl From<TlsError> for Error {
    fn from(err: TlsError) -> Self {
        match err {
            #[cfg(feature = "rustls-tls")]
            TlsError::Rustls(err) => Self::RustlsTls(err),
            #[cfg(feature = "rustls-tls")]
            TlsError::NoCryptoProvider(err) => Self::Service(err.into()),
            #[cfg(feature = "openssl-tls")]
            TlsError::Openssl(err) => Self::OpensslTls(err),
            TlsError::Kubeconfig(err) => Self::InferKubeconfig(err),
        }
    }
}

#[cfg(feature = "client")]
impl From<ConnectError> for Error {
    fn from(err: ConnectError) -> Self {
        match err {
            ConnectError::Tls(err) => err.into(),
            ConnectError::ServerUrl(err) => Self::InferKubeconfig(KubeconfigError::ParseClusterUrl(err)),
            ConnectError::ProxyUrl(err) => Self::InferKubeconfig(KubeconfigError::ParseProxyUrl(err)),
            ConnectError::TlsRequired => Self::TlsRequired,
            ConnectError::ProxyDisabled { proxy_url, protocol_feature } => {
                Self::ProxyProtocolDisabled { proxy_url: Box::new(proxy_url), protocol_feature }
            }
            ConnectError::ProxyUnsupported { proxy_url } => {
                Self::ProxyProtocolUnsupported { proxy_url: Box::new(proxy_url) }
            }
        }
    }
}

/// What discovery did not find.
#[derive(Debug, Error)]
pub enum DiscoveryError {
    /// The version has no such kind.
    #[error("Missing Kind: {0}")]
    MissingKind(String),
    /// The server has no such group.
    #[error("Missing Api Group: {0}")]
    MissingApiGroup(String),
    /// The version has no such resource.
    #[error("Missing Resource: {0}")]
    MissingResource(String),
    /// The group has no version.
    #[error("Empty Api Group: {0}")]
    EmptyApiGroup(String),
    /// Not of the form `group/version`.
    #[error("Invalid GroupVersion: {0}")]
    InvalidGroupVersion(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_api_error_prints_message_reason_and_code() {
        let status = Status::failure("pods \"a\" not found", "NotFound").with_code(404);
        let err = Error::Api(status.boxed());
        assert_eq!(err.to_string(), "pods \"a\" not found (NotFound, code 404)");
        assert!(std::error::Error::source(&err).is_none());
    }
}
