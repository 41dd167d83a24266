//! The credentials of a user in a kubeconfig.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::extension::NamedExtension;
use super::values::{self, sorted};
use crate::config::redact::{Keys, Redacted, redacted_args};

/// The credentials of one user. [`ConfigExt::auth_layer`](crate::client::ConfigExt::auth_layer) says which of them is used if there
/// are several.
///
/// Tokens, passwords and keys do not show in the `Debug` form, nor do the values of unknown keys.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct AuthInfo {
    /// User name for basic authentication.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub username: Option<String>,
    /// Password for basic authentication.
    #[serde(default, with = "values::secret", skip_serializing_if = "Option::is_none")]
    pub password: Option<SecretString>,
    /// Bearer token.
    #[serde(default, with = "values::secret", skip_serializing_if = "Option::is_none")]
    pub token: Option<SecretString>,
    /// File with a bearer token, read again when it changes. Wins over `token`.
    #[serde(rename = "tokenFile", skip_serializing_if = "Option::is_none")]
    pub token_file: Option<String>,
    /// File with the PEM client certificate.
    #[serde(rename = "client-certificate", skip_serializing_if = "Option::is_none")]
    pub client_certificate: Option<String>,
    /// The same inline, base64 of the PEM text. Wins over the file.
    #[serde(rename = "client-certificate-data", skip_serializing_if = "Option::is_none")]
    pub client_certificate_data: Option<String>,
    /// File with the PEM key of the client certificate.
    #[serde(rename = "client-key", skip_serializing_if = "Option::is_none")]
    pub client_key: Option<String>,
    /// The same inline, base64 of the PEM text. Wins over the file.
    #[serde(
        rename = "client-key-data",
        default,
        with = "values::secret",
        skip_serializing_if = "Option::is_none"
    )]
    pub client_key_data: Option<SecretString>,
    /// User to impersonate.
    #[serde(rename = "as", skip_serializing_if = "Option::is_none")]
    pub impersonate: Option<String>,
    /// Uid of the user to impersonate.
    #[serde(rename = "as-uid", skip_serializing_if = "Option::is_none")]
    pub impersonate_uid: Option<String>,
    /// Groups of the user to impersonate.
    #[serde(rename = "as-groups", skip_serializing_if = "Option::is_none")]
    pub impersonate_groups: Option<Vec<String>>,
    /// Extra attributes of the user to impersonate.
    #[serde(rename = "as-user-extra", skip_serializing_if = "Option::is_none")]
    pub impersonate_user_extra: Option<HashMap<String, Vec<String>>>,
    /// Auth provider: the deprecated predecessor of exec plugins.
    #[serde(rename = "auth-provider", skip_serializing_if = "Option::is_none")]
    pub auth_provider: Option<AuthProviderConfig>,
    /// Exec plugin: a program that prints credentials.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exec: Option<ExecConfig>,
    /// Data of other tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Vec<NamedExtension>>,
    /// Every other key.
    #[serde(flatten, deserialize_with = "values::unknown_keys")]
    pub other: BTreeMap<String, Value>,
}

impl fmt::Debug for AuthInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuthInfo")
            .field("username", &self.username)
            .field("password", &self.password)
            .field("token", &self.token)
            .field("token_file", &self.token_file)
            .field("client_certificate", &self.client_certificate)
            .field("client_certificate_data", &self.client_certificate_data)
            .field("client_key", &self.client_key)
            .field("client_key_data", &self.client_key_data)
            .field("impersonate", &self.impersonate)
            .field("impersonate_uid", &self.impersonate_uid)
            .field("impersonate_groups", &self.impersonate_groups)
            .field("impersonate_user_extra", &self.impersonate_user_extra)
            .field("auth_provider", &self.auth_provider)
            .field("exec", &self.exec)
            .field("extensions", &self.extensions)
            .field("other", &Keys(&self.other))
            .finish()
    }
}

/// An auth provider and its settings. The settings contain tokens: `Debug` shows only their keys.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct AuthProviderConfig {
    /// The provider, such as `oidc` or `gcp`.
    pub name: String,
    /// The provider's settings.
    #[serde(default, deserialize_with = "values::or_default")]
    pub config: HashMap<String, String>,
    /// Every other key.
    #[serde(flatten, deserialize_with = "values::unknown_keys")]
    pub other: BTreeMap<String, Value>,
}

impl fmt::Debug for AuthProviderConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuthProviderConfig")
            .field("name", &self.name)
            .field("config", &SortedKeys(&self.config))
            .field("other", &Keys(&self.other))
            .finish()
    }
}

/// Prints the keys only.
struct SortedKeys<'a>(&'a HashMap<String, String>);

impl fmt::Debug for SortedKeys<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(sorted(self.0).into_iter().map(|(key, _)| key)).finish()
    }
}

/// An exec plugin: a program that prints credentials, and how to run it.
///
/// `Debug` shows neither the values of `env` nor of arguments that look like secrets by their name (`--client-secret=...`).
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct ExecConfig {
    /// `client.authentication.k8s.io/v1` or `/v1beta1`: the API version of the plugin's input and output.
    #[serde(rename = "apiVersion", skip_serializing_if = "Option::is_none")]
    pub api_version: Option<String>,
    /// Shown to the user if the plugin is not installed.
    #[serde(rename = "installHint", skip_serializing_if = "Option::is_none")]
    pub install_hint: Option<String>,
    /// The program: a name looked up in `PATH`, or a path. Relative paths start at the kubeconfig's directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Its arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub args: Option<Vec<String>>,
    /// Variables added to its environment, each as `{name, value}`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub env: Option<Vec<HashMap<String, String>>>,
    /// Variables removed from its environment.
    #[serde(skip)]
    pub drop_env: Option<Vec<String>>,
    /// Whether the plugin may ask the user on the terminal.
    #[serde(rename = "interactiveMode", skip_serializing_if = "Option::is_none")]
    pub interactive_mode: Option<ExecInteractiveMode>,
    /// Pass the cluster to the plugin, in the variable `KUBERNETES_EXEC_INFO`.
    #[serde(rename = "provideClusterInfo", default, deserialize_with = "values::unquoted_bool_or_false")]
    pub provide_cluster_info: bool,
    /// The cluster that is passed; set when a context is selected.
    #[serde(skip)]
    pub cluster: Option<ExecAuthCluster>,
    /// Every other key.
    #[serde(flatten, deserialize_with = "values::unknown_keys")]
    pub other: BTreeMap<String, Value>,
}

impl fmt::Debug for ExecConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let env =
            self.env.as_ref().map(|env| env.iter().map(|variable| variable.get("name")).collect::<Vec<_>>());
        f.debug_struct("ExecConfig")
            .field("api_version", &self.api_version)
            .field("install_hint", &self.install_hint)
            .field("command", &self.command)
            .field("args", &self.args.as_deref().map(redacted_args))
            .field("env", &env)
            .field("drop_env", &self.drop_env)
            .field("interactive_mode", &self.interactive_mode)
            .field("provide_cluster_info", &self.provide_cluster_info)
            .field("cluster", &self.cluster)
            .field("other", &Keys(&self.other))
            .finish()
    }
}

/// Whether an exec plugin may ask the user on the terminal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ExecInteractiveMode {
    /// It never asks, and has no standard input.
    Never,
    /// It asks if there is a terminal.
    IfAvailable,
    /// It cannot work without a terminal.
    Always,
}

/// The cluster as it is passed to an exec plugin. `Debug` shows no passwords in URLs, and omits `config`.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ExecAuthCluster {
    /// URL of the API server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// Whether the server's certificate is not verified.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub insecure_skip_tls_verify: Option<bool>,
    /// CA certificates to trust, PEM; base64 on the wire.
    #[serde(default, with = "values::base64_bytes", skip_serializing_if = "Option::is_none")]
    pub certificate_authority_data: Option<Vec<u8>>,
    /// URL of the proxy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy_url: Option<String>,
    /// Name to expect in the server's certificate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls_server_name: Option<String>,
    /// The cluster's extension for exec plugins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config: Option<Value>,
}

impl fmt::Debug for ExecAuthCluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExecAuthCluster")
            .field("server", &self.server.as_deref().map(Redacted::Text))
            .field("insecure_skip_tls_verify", &self.insecure_skip_tls_verify)
            .field("certificate_authority_data", &self.certificate_authority_data.as_ref().map(Vec::len))
            .field("proxy_url", &self.proxy_url.as_deref().map(Redacted::Text))
            .field("tls_server_name", &self.tls_server_name)
            .finish_non_exhaustive()
    }
}
