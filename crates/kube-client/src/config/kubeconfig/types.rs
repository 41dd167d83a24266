//! The kubeconfig document as it stands in a file: clusters, contexts and what surrounds them.

use std::collections::BTreeMap;
use std::fmt;

use kube_core::util::null_as_empty;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::AuthInfo;
use super::flag::flag;
use crate::config::secrets::{Keys, Redacted};

/// A kubeconfig: which clusters there are, who one may be there, and which pairing is current.
///
/// Keys that this type does not know are kept in `other` at every level, so a file can be read, changed and written back
/// without loss. `Debug` shows the keys in `other` without their values: a secret may stand there by mistake.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Kubeconfig {
    /// Client preferences; nothing in this crate reads them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preferences: Option<Preferences>,
    /// The known clusters, each under a name.
    #[serde(default, deserialize_with = "null_as_empty")]
    pub clusters: Vec<NamedCluster>,
    /// The known users with their credentials, each under a name.
    #[serde(rename = "users", default, deserialize_with = "null_as_empty")]
    pub auth_infos: Vec<NamedAuthInfo>,
    /// The known pairings of a cluster and a user, each under a name.
    #[serde(default, deserialize_with = "null_as_empty")]
    pub contexts: Vec<NamedContext>,
    /// The context that is used where none is asked for.
    #[serde(rename = "current-context", skip_serializing_if = "Option::is_none")]
    pub current_context: Option<String>,
    /// Data of other tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Vec<NamedExtension>>,
    /// `Config` where it is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// `v1` where it is given.
    #[serde(rename = "apiVersion", skip_serializing_if = "Option::is_none")]
    pub api_version: Option<String>,
    /// Every other key of the document.
    #[serde(flatten)]
    pub other: BTreeMap<String, Value>,
}

impl fmt::Debug for Kubeconfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kubeconfig")
            .field("preferences", &self.preferences)
            .field("clusters", &self.clusters)
            .field("auth_infos", &self.auth_infos)
            .field("contexts", &self.contexts)
            .field("current_context", &self.current_context)
            .field("extensions", &self.extensions)
            .field("kind", &self.kind)
            .field("api_version", &self.api_version)
            .field("other", &Keys(&self.other))
            .finish()
    }
}

/// The `preferences` of a kubeconfig.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Preferences {
    /// Whether a command line tool may print colours.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "colors")]
    pub colors: Option<bool>,
    /// Data of other tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Vec<NamedExtension>>,
    /// Every other key.
    #[serde(flatten)]
    pub other: BTreeMap<String, Value>,
}

impl fmt::Debug for Preferences {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Preferences")
            .field("colors", &self.colors)
            .field("extensions", &self.extensions)
            .field("other", &Keys(&self.other))
            .finish()
    }
}

/// Data of another tool under a name. `Debug` shows the name alone: nobody knows what is secret in the data.
#[derive(Clone, Serialize, Deserialize)]
pub struct NamedExtension {
    /// The tool's name for it.
    pub name: String,
    /// The data, of any shape.
    pub extension: Value,
}

impl fmt::Debug for NamedExtension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NamedExtension").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A cluster under the name by which contexts refer to it.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct NamedCluster {
    /// The name.
    pub name: String,
    /// How to reach the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster: Option<Cluster>,
    /// Every other key.
    #[serde(flatten)]
    pub other: BTreeMap<String, Value>,
}

impl fmt::Debug for NamedCluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NamedCluster")
            .field("name", &self.name)
            .field("cluster", &self.cluster)
            .field("other", &Keys(&self.other))
            .finish()
    }
}

/// How to reach a cluster, and how to know that it is the right one.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Cluster {
    /// URL of the API server, such as `https://host:6443`, with or without a path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// Accept any server certificate. Leaves the connection open to anyone in between: for experiments only.
    #[serde(
        rename = "insecure-skip-tls-verify",
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "insecure"
    )]
    pub insecure_skip_tls_verify: Option<bool>,
    /// File with the PEM certificates of the authorities to trust.
    #[serde(rename = "certificate-authority", skip_serializing_if = "Option::is_none")]
    pub certificate_authority: Option<String>,
    /// The same in place, base64 of the PEM text. Wins over the file.
    #[serde(rename = "certificate-authority-data", skip_serializing_if = "Option::is_none")]
    pub certificate_authority_data: Option<String>,
    /// Proxy to go through: see [`Config::proxy_url`](crate::Config::proxy_url).
    #[serde(rename = "proxy-url", skip_serializing_if = "Option::is_none")]
    pub proxy_url: Option<String>,
    /// Do not ask for compressed answers.
    #[serde(
        rename = "disable-compression",
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "plain"
    )]
    pub disable_compression: Option<bool>,
    /// Name to expect in the server's certificate instead of the URL's host.
    #[serde(rename = "tls-server-name", skip_serializing_if = "Option::is_none")]
    pub tls_server_name: Option<String>,
    /// Data of other tools; the one named `client.authentication.k8s.io/exec` is handed to exec plugins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Vec<NamedExtension>>,
    /// Every other key.
    #[serde(flatten)]
    pub other: BTreeMap<String, Value>,
}

/// The passwords that a URL may hold do not show, nor do the values of unknown keys.
impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cluster")
            .field("server", &self.server.as_deref().map(Redacted::Text))
            .field("insecure_skip_tls_verify", &self.insecure_skip_tls_verify)
            .field("certificate_authority", &self.certificate_authority)
            .field("certificate_authority_data", &self.certificate_authority_data)
            .field("proxy_url", &self.proxy_url.as_deref().map(Redacted::Text))
            .field("disable_compression", &self.disable_compression)
            .field("tls_server_name", &self.tls_server_name)
            .field("extensions", &self.extensions)
            .field("other", &Keys(&self.other))
            .finish()
    }
}

/// A user under the name by which contexts refer to it.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct NamedAuthInfo {
    /// The name.
    pub name: String,
    /// The user's credentials.
    #[serde(rename = "user", skip_serializing_if = "Option::is_none")]
    pub auth_info: Option<AuthInfo>,
    /// Every other key.
    #[serde(flatten)]
    pub other: BTreeMap<String, Value>,
}

impl fmt::Debug for NamedAuthInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NamedAuthInfo")
            .field("name", &self.name)
            .field("auth_info", &self.auth_info)
            .field("other", &Keys(&self.other))
            .finish()
    }
}

/// A context under its name.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct NamedContext {
    /// The name.
    pub name: String,
    /// The pairing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<Context>,
    /// Every other key.
    #[serde(flatten)]
    pub other: BTreeMap<String, Value>,
}

impl fmt::Debug for NamedContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NamedContext")
            .field("name", &self.name)
            .field("context", &self.context)
            .field("other", &Keys(&self.other))
            .finish()
    }
}

/// A pairing of a cluster and a user, with the namespace to start in.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Context {
    /// Name of the cluster.
    pub cluster: String,
    /// Name of the user; without one, requests are anonymous.
    pub user: Option<String>,
    /// Namespace where none is asked for; `default` if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Data of other tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Vec<NamedExtension>>,
    /// Every other key.
    #[serde(flatten)]
    pub other: BTreeMap<String, Value>,
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("cluster", &self.cluster)
            .field("user", &self.user)
            .field("namespace", &self.namespace)
            .field("extensions", &self.extensions)
            .field("other", &Keys(&self.other))
            .finish()
    }
}

fn colors<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<bool>, D::Error> {
    flag("colors", deserializer)
}

fn insecure<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<bool>, D::Error> {
    flag("insecure-skip-tls-verify", deserializer)
}

fn plain<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<bool>, D::Error> {
    flag("disable-compression", deserializer)
}
