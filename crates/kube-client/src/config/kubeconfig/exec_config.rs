//! The settings of an exec plugin in a kubeconfig, and what the plugin is told of the cluster.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::last_key::LastKeyWins;
use super::values;
use crate::config::redact::{Keys, Redacted, redacted_args};

/// An exec plugin: a program that prints credentials, and how to run it.
///
/// `Debug` shows neither the values of `env` nor of arguments that look like secrets by their name (`--client-secret=...`).
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(remote = "Self")]
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
    #[serde(default, deserialize_with = "values::optional_list", skip_serializing_if = "Option::is_none")]
    pub args: Option<Vec<String>>,
    /// Variables added to its environment, each as `{name, value}`.
    #[serde(
        default,
        deserialize_with = "values::optional_list_of_maps",
        skip_serializing_if = "Option::is_none"
    )]
    pub env: Option<Vec<HashMap<String, String>>>,
    /// Variables removed from its environment.
    #[serde(skip)]
    pub drop_env: Option<Vec<String>>,
    /// Whether the plugin may ask the user on the terminal. A text in the document that is no mode stays in `other`, and is an error when
    /// the user is selected.
    #[serde(rename = "interactiveMode", skip_deserializing, skip_serializing_if = "Option::is_none")]
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

/// The key of [`ExecConfig::interactive_mode`].
const INTERACTIVE_MODE: &str = "interactiveMode";

impl ExecConfig {
    /// The text that should be a mode and is none.
    pub(super) fn unknown_interactive_mode(&self) -> Option<&str> {
        self.other.get(INTERACTIVE_MODE).and_then(Value::as_str)
    }
}

impl<'de> Deserialize<'de> for ExecConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut config = Self::deserialize(LastKeyWins(deserializer))?;
        let mode = match config.other.get(INTERACTIVE_MODE) {
            None => return Ok(config),
            Some(Value::Null) => None,
            Some(Value::String(text)) if text.is_empty() => None,
            Some(Value::String(text)) => match ExecInteractiveMode::of(text) {
                None => return Ok(config),
                mode => mode,
            },
            Some(_) => return Err(D::Error::custom("`interactiveMode`: expected a text")),
        };
        config.other.remove(INTERACTIVE_MODE);
        config.interactive_mode = mode;
        Ok(config)
    }
}

impl Serialize for ExecConfig {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, serializer)
    }
}

impl ExecInteractiveMode {
    fn of(text: &str) -> Option<Self> {
        match text {
            "Never" => Some(Self::Never),
            "IfAvailable" => Some(Self::IfAvailable),
            "Always" => Some(Self::Always),
            _ => None,
        }
    }
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
