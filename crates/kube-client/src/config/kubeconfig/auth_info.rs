//! The credentials of a user in a kubeconfig.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::exec_config::ExecConfig;
use super::extension::NamedExtension;
use super::last_key::last_key_wins;
use super::values::{self, sorted};
use crate::config::redact::Keys;

/// The credentials of one user. [`ConfigExt::auth_layer`](crate::client::ConfigExt::auth_layer) says which of them is used if there
/// are several.
///
/// Tokens, passwords and keys do not show in the `Debug` form, nor do the values of unknown keys.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(remote = "Self")]
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
    /// File with a bearer token, read again when it changes. Wins over `token`, which is used until the file can be read.
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
    #[serde(
        rename = "as-groups",
        default,
        deserialize_with = "values::optional_list",
        skip_serializing_if = "Option::is_none"
    )]
    pub impersonate_groups: Option<Vec<String>>,
    /// Extra attributes of the user to impersonate.
    #[serde(
        rename = "as-user-extra",
        default,
        deserialize_with = "values::optional_map_of_lists",
        skip_serializing_if = "Option::is_none"
    )]
    pub impersonate_user_extra: Option<HashMap<String, Vec<String>>>,
    /// Auth provider: the deprecated predecessor of exec plugins.
    #[serde(rename = "auth-provider", skip_serializing_if = "Option::is_none")]
    pub auth_provider: Option<AuthProviderConfig>,
    /// Exec plugin: a program that prints credentials.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exec: Option<ExecConfig>,
    /// Data of other tools.
    #[serde(default, deserialize_with = "values::optional_list", skip_serializing_if = "Option::is_none")]
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
#[serde(remote = "Self")]
pub struct AuthProviderConfig {
    /// The provider, such as `oidc` or `gcp`.
    #[serde(default, deserialize_with = "values::or_default")]
    pub name: String,
    /// The provider's settings.
    #[serde(default, deserialize_with = "values::map")]
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

last_key_wins!(AuthInfo, AuthProviderConfig);
