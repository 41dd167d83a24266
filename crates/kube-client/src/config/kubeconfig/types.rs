//! The kubeconfig document: clusters, users and contexts.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::auth_info::AuthInfo;
use super::extension::NamedExtension;
use super::last_key::last_key_wins;
use super::values;
use crate::config::redact::{Keys, Redacted};

/// A kubeconfig: clusters, users, and contexts that pair a cluster with a user.
///
/// Unknown keys are kept in `other` at every level, so a file can be read, changed and written back without loss. `Debug` shows the keys
/// in `other` without their values, which may be secrets.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct Kubeconfig {
    /// Client preferences; nothing in this crate reads them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preferences: Option<Preferences>,
    /// The clusters, each under a name.
    #[serde(default, deserialize_with = "values::list")]
    pub clusters: Vec<NamedCluster>,
    /// The users with their credentials, each under a name.
    #[serde(rename = "users", default, deserialize_with = "values::list")]
    pub auth_infos: Vec<NamedAuthInfo>,
    /// The contexts, each under a name.
    #[serde(default, deserialize_with = "values::list")]
    pub contexts: Vec<NamedContext>,
    /// Name of the context that is used by default.
    #[serde(rename = "current-context", skip_serializing_if = "Option::is_none")]
    pub current_context: Option<String>,
    /// Data of other tools.
    #[serde(default, deserialize_with = "values::optional_list", skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Vec<NamedExtension>>,
    /// `Config`, if set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// `v1`, if set.
    #[serde(rename = "apiVersion", skip_serializing_if = "Option::is_none")]
    pub api_version: Option<String>,
    /// Every other key of the document.
    #[serde(flatten, deserialize_with = "values::unknown_keys")]
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
#[serde(remote = "Self")]
pub struct Preferences {
    /// Whether a command line tool may print colors.
    #[serde(default, deserialize_with = "values::unquoted_bool", skip_serializing_if = "Option::is_none")]
    pub colors: Option<bool>,
    /// Data of other tools.
    #[serde(default, deserialize_with = "values::optional_list", skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Vec<NamedExtension>>,
    /// Every other key.
    #[serde(flatten, deserialize_with = "values::unknown_keys")]
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

/// A cluster under the name by which contexts refer to it.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct NamedCluster {
    /// The name.
    #[serde(default, deserialize_with = "values::or_default")]
    pub name: String,
    /// How to reach the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster: Option<Cluster>,
    /// Every other key.
    #[serde(flatten, deserialize_with = "values::unknown_keys")]
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

/// How to connect to a cluster, and how to verify its server.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct Cluster {
    /// URL of the API server, such as `https://host:6443`, with or without a path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// Accept any server certificate. Insecure: anyone between client and server can read and change the traffic.
    #[serde(
        rename = "insecure-skip-tls-verify",
        default,
        deserialize_with = "values::unquoted_bool",
        skip_serializing_if = "Option::is_none"
    )]
    pub insecure_skip_tls_verify: Option<bool>,
    /// File with the CA certificates to trust, PEM.
    #[serde(rename = "certificate-authority", skip_serializing_if = "Option::is_none")]
    pub certificate_authority: Option<String>,
    /// The same inline, base64 of the PEM text. Wins over the file.
    #[serde(rename = "certificate-authority-data", skip_serializing_if = "Option::is_none")]
    pub certificate_authority_data: Option<String>,
    /// URL of the proxy: see [`Config::proxy_url`](crate::Config::proxy_url).
    #[serde(rename = "proxy-url", skip_serializing_if = "Option::is_none")]
    pub proxy_url: Option<String>,
    /// Do not request compressed responses.
    #[serde(
        rename = "disable-compression",
        default,
        deserialize_with = "values::unquoted_bool",
        skip_serializing_if = "Option::is_none"
    )]
    pub disable_compression: Option<bool>,
    /// Name to expect in the server's certificate instead of the URL's host.
    #[serde(rename = "tls-server-name", skip_serializing_if = "Option::is_none")]
    pub tls_server_name: Option<String>,
    /// Data of other tools; the one named `client.authentication.k8s.io/exec` is passed to exec plugins.
    #[serde(default, deserialize_with = "values::optional_list", skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Vec<NamedExtension>>,
    /// Every other key.
    #[serde(flatten, deserialize_with = "values::unknown_keys")]
    pub other: BTreeMap<String, Value>,
}

/// Shows neither passwords in URLs nor the values of unknown keys.
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
#[serde(remote = "Self")]
pub struct NamedAuthInfo {
    /// The name.
    #[serde(default, deserialize_with = "values::or_default")]
    pub name: String,
    /// The user's credentials.
    #[serde(rename = "user", skip_serializing_if = "Option::is_none")]
    pub auth_info: Option<AuthInfo>,
    /// Every other key.
    #[serde(flatten, deserialize_with = "values::unknown_keys")]
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
#[serde(remote = "Self")]
pub struct NamedContext {
    /// The name.
    #[serde(default, deserialize_with = "values::or_default")]
    pub name: String,
    /// The context.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<Context>,
    /// Every other key.
    #[serde(flatten, deserialize_with = "values::unknown_keys")]
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

/// A cluster, a user, and the default namespace.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct Context {
    /// Name of the cluster.
    #[serde(default, deserialize_with = "values::or_default")]
    pub cluster: String,
    /// Name of the user; without one, requests are anonymous.
    pub user: Option<String>,
    /// Default namespace of requests; `default` if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Data of other tools.
    #[serde(default, deserialize_with = "values::optional_list", skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Vec<NamedExtension>>,
    /// Every other key.
    #[serde(flatten, deserialize_with = "values::unknown_keys")]
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

last_key_wins!(Kubeconfig, Preferences, NamedCluster, Cluster, NamedAuthInfo, NamedContext, Context);
