//! The errors of finding and reading a configuration.

use std::path::PathBuf;

use thiserror::Error;

use crate::chain::ErrorChain;

/// A kubeconfig could not be found, read or used.
#[derive(Debug, Error)]
pub enum KubeconfigError {
    /// The options have no context, and the kubeconfig has no current one.
    #[error(
        "the kubeconfig has no `current-context`: set one (`kubectl config use-context NAME`) or select a context"
    )]
    CurrentContextNotSet,
    /// Merging kubeconfigs of different `kind`s.
    #[error("kubeconfigs of different `kind` cannot be merged: each has to be `Config`")]
    KindMismatch,
    /// Merging kubeconfigs of different `apiVersion`s.
    #[error("kubeconfigs of different `apiVersion` cannot be merged: each has to be `v1`")]
    ApiVersionMismatch,
    /// The context, or its user, is not in the kubeconfig, or the user has settings that contradict each other. The message has its name,
    /// and the names that exist or the settings.
    #[error("{0}")]
    LoadContext(String),
    /// The context's cluster is not in the kubeconfig, or has settings that contradict each other. The message has its name, and the names
    /// that exist or the settings.
    #[error("{0}")]
    LoadClusterOfContext(String),
    /// There is no home directory that could have a `.kube/config`.
    #[error(
        "no kubeconfig: `KUBECONFIG` is not set and there is no home directory to find `.kube/config` in"
    )]
    FindPath,
    /// A kubeconfig file could not be read, or a value in it cannot be used. In the second case the message has the cluster or user and
    /// the value, and `source()` is the error of [`Config::from_custom_kubeconfig`](super::Config::from_custom_kubeconfig).
    #[error("the kubeconfig {} cannot be used: {}", .1.display(), ErrorChain(.0))]
    ReadConfig(#[source] std::io::Error, PathBuf),
    /// The text is not a kubeconfig.
    #[error("not a kubeconfig: {}", ErrorChain(.0.as_ref()))]
    Parse(#[source] Box<serde_saphyr::Error>),
    /// The cluster has no `server`.
    #[error("the cluster has no `server`: expected a URL such as https://host:6443")]
    MissingClusterUrl,
    /// The cluster's `server` is not a URL.
    #[error("the cluster's `server` is not a URL: expected one such as https://host:6443, with a port up to 65535: {}", ErrorChain(.0))]
    ParseClusterUrl(#[source] http::uri::InvalidUri),
    /// The cluster's `proxy-url`, or else the proxy of the environment, is not a URL.
    #[error("the proxy (`proxy-url` of the cluster, else HTTPS_PROXY or HTTP_PROXY) is not a URL: expected one such as http://host:3128, with a port up to 65535: {}", ErrorChain(.0))]
    ParseProxyUrl(#[source] http::uri::InvalidUri),
    /// `NO_PROXY` is invalid.
    #[error("the environment's NO_PROXY cannot be used: {}", ErrorChain(.0))]
    ParseNoProxy(#[source] NoProxyError),
    /// The cluster's CA certificates could not be loaded.
    #[error("cannot load the cluster's `certificate-authority`: {}", ErrorChain(.0))]
    LoadCertificateAuthority(#[source] LoadDataError),
    /// The user's certificate could not be loaded.
    #[error("cannot load the user's `client-certificate`: {}", ErrorChain(.0))]
    LoadClientCertificate(#[source] LoadDataError),
    /// The user's key could not be loaded.
    #[error("cannot load the user's `client-key`: {}", ErrorChain(.0))]
    LoadClientKey(#[source] LoadDataError),
    /// The cluster's CA certificates are not PEM.
    #[error("the cluster's `certificate-authority` is not a list of PEM certificates: {}", ErrorChain(.0))]
    ParseCertificates(#[source] pem::PemError),
}

/// There is nothing that clients of a configuration could follow.
#[cfg(feature = "client")]
#[derive(Debug, Error)]
#[error(
    "the configuration was made by the program, so there is nothing to follow: expected one that was read from kubeconfig files \
     (`Config::infer`, `from_kubeconfig`, `from_kubeconfig_file`), from a Secret (`KubeconfigSecret`) or in a pod"
)]
pub struct FollowError;

/// A certificate or key, inline or in a file, could not be loaded.
#[derive(Debug, Error)]
pub enum LoadDataError {
    /// The `-data` form is not base64.
    #[error("its `-data` is not base64: {}", ErrorChain(.0))]
    DecodeBase64(#[source] base64::DecodeError),
    /// The file could not be read.
    #[error("cannot read {}: {}", .1.display(), ErrorChain(.0))]
    ReadFile(#[source] std::io::Error, PathBuf),
    /// Neither form is set.
    #[error("neither the file nor its `-data` is set")]
    NoBase64DataOrFile,
}

/// `NO_PROXY` is invalid.
///
/// It is read only if the environment has a proxy for the cluster.
#[derive(Debug, Error)]
pub enum NoProxyError {
    /// The list is empty. Never returned: an empty list matches nothing, as for other programs.
    #[error("the list is empty")]
    EmptyInput,
    /// An entry is empty. Never returned: empty entries are skipped, as by other programs.
    #[error("an entry is empty")]
    EmptyValue,
    /// The cluster's URL has no host to match.
    #[error("the cluster's URL {uri} has no host to match against the list")]
    NoHost {
        /// The URL.
        uri: Box<http::Uri>,
    },
    /// An entry is invalid. Only logged: such entries are ignored, as by other programs.
    #[error(
        "{input:?} is not a host, address or address range: expected one such as example.com, .example.com, 10.1.2.3, 10.0.0.0/8, fd00::/8 or *; all but ranges may have a port"
    )]
    ParseMatcher {
        /// The entry.
        input: String,
    },
}

/// The process does not run inside a cluster, or the in-cluster configuration is invalid.
#[derive(Debug, Error)]
pub enum InClusterError {
    /// The namespace file exists, but could not be read.
    #[error("cannot read the pod's namespace from {NAMESPACE_FILE}: {}", ErrorChain(.0))]
    ReadDefaultNamespace(#[source] std::io::Error),
    /// `KUBERNETES_SERVICE_HOST` or `KUBERNETES_SERVICE_PORT` is not set.
    #[error("not inside a cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not both set: {}", ErrorChain(.0))]
    ReadEnvironmentVariable(#[source] std::env::VarError),
    /// The file of the CA certificates could not be read.
    #[error("cannot read the cluster's CA certificates from {CA_FILE}: {}", ErrorChain(.0))]
    ReadCertificateBundle(#[source] std::io::Error),
    /// `KUBERNETES_SERVICE_PORT` is not a port.
    #[error("KUBERNETES_SERVICE_PORT is not a port number: {}", ErrorChain(.0))]
    ParseClusterPort(#[source] std::num::ParseIntError),
    /// `KUBERNETES_SERVICE_HOST` is not valid in a URL.
    #[error("KUBERNETES_SERVICE_HOST is not a host name or address: {}", ErrorChain(.0))]
    ParseClusterUrl(#[source] http::uri::InvalidUri),
    /// The file of the CA certificates is not PEM.
    #[error("{CA_FILE} is not a list of PEM certificates: {}", ErrorChain(.0))]
    ParseCertificates(#[source] pem::PemError),
}

/// The namespace of the pod.
pub(super) const NAMESPACE_FILE: &str = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";
/// The CA certificates of the API server.
pub(super) const CA_FILE: &str = "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt";
/// The service account token of the pod.
pub(super) const TOKEN_FILE: &str = "/var/run/secrets/kubernetes.io/serviceaccount/token";

/// Neither a kubeconfig nor the in-cluster configuration could be used.
#[derive(Debug, Error)]
#[error("no usable cluster configuration: {}", both(.kubeconfig, .in_cluster.as_ref()))]
pub struct InferConfigError {
    #[source]
    kubeconfig: KubeconfigError,
    in_cluster: Option<InClusterError>,
}

impl InferConfigError {
    /// The kubeconfig exists but cannot be used; the in-cluster configuration was not tried.
    pub(super) fn invalid(kubeconfig: KubeconfigError) -> Self {
        Self { kubeconfig, in_cluster: None }
    }

    /// There is no kubeconfig, and the in-cluster configuration cannot be used.
    pub(super) fn not_found(kubeconfig: KubeconfigError, in_cluster: InClusterError) -> Self {
        Self { kubeconfig, in_cluster: Some(in_cluster) }
    }
}

/// Both causes: only the first of them can be the `source()`.
fn both(kubeconfig: &KubeconfigError, in_cluster: Option<&InClusterError>) -> String {
    let second = in_cluster.map(|cause| format!("; {cause}"));
    format!("{kubeconfig}{}", second.unwrap_or_default())
}
