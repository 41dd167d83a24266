//! Writes the kubeconfig of a server, with a context per user.

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Value, json};

use super::pki::{ClientCredential, ClientIdentity};

/// The context that every server has.
const NAME: &str = "testserver";

/// A kubeconfig with the context `testserver` for the first identity, and a context for each other identity, all in the namespace `default`. Without identities the server needs no credentials, but `kubectl` would prompt for a user name over TLS, so the context has a token.
pub(super) fn kubeconfig(url: &str, ca: Option<&str>, identities: &[ClientIdentity]) -> String {
    let authority =
        ca.map(|pem| format!("\n    certificate-authority-data: {}", BASE64_STANDARD.encode(pem)));
    let stranger = || if ca.is_some() { json!({"token": "anyone"}) } else { json!({}) };
    let first = identities.first().map_or_else(stranger, |identity| credential(&identity.credential));
    let rest = identities.iter().skip(1).map(|i| (i.user.name.as_str(), credential(&i.credential)));
    let users: Vec<(Value, Value)> =
        std::iter::once((NAME, first)).chain(rest).map(|(name, user)| (name.into(), user)).collect();
    let authority = authority.unwrap_or_default();
    // Names may need quoting; JSON strings are YAML.
    let contexts = users.iter().map(|(name, _)| {
        format!("- name: {name}\n  context: {{\"cluster\": \"{NAME}\", \"user\": {name}, \"namespace\": \"default\"}}\n")
    });
    let contexts: String = contexts.collect();
    let users: String =
        users.iter().map(|(name, user)| format!("- name: {name}\n  user: {user}\n")).collect();
    format!(
        "apiVersion: v1
kind: Config
clusters:
- name: {NAME}
  cluster:
    server: {url}{authority}
contexts:
{contexts}current-context: {NAME}
users:
{users}"
    )
}

fn credential(credential: &ClientCredential) -> Value {
    match credential {
        ClientCredential::Token(token) => json!({"token": token}),
        ClientCredential::Certificate { pem, key, .. } => {
            json!({"client-certificate-data": encoded(pem), "client-key-data": encoded(key)})
        }
    }
}

fn encoded(pem: &str) -> Value {
    BASE64_STANDARD.encode(pem).into()
}
