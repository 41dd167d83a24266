//! Writes the kubeconfig of a server, with a context per user.

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Value, json};

use super::pki::{ClientCredential, ClientIdentity};

/// The context that every server has.
const NAME: &str = "testserver";

/// A kubeconfig with the context `testserver` for the first identity, and a context for each other identity, all in the namespace
/// `default`. Without identities the server needs no credentials, but `kubectl` would prompt for a user name over TLS, so the context has a
/// token. Without TLS there is nothing to verify, which clients in JavaScript want to be told.
pub(super) fn kubeconfig(url: &str, ca: Option<&str>, identities: &[ClientIdentity]) -> String {
    let verification = match ca {
        Some(pem) => format!("certificate-authority-data: {}", BASE64_STANDARD.encode(pem)),
        None => "insecure-skip-tls-verify: true".to_owned(),
    };
    let stranger = || if ca.is_some() { json!({"token": "anyone"}) } else { json!({}) };
    let first = identities.first().map_or_else(stranger, |identity| credential(&identity.credential));
    let rest = identities.iter().skip(1).map(|i| (i.user.name.as_str(), credential(&i.credential)));
    let users: Vec<(Value, Value)> =
        std::iter::once((NAME, first)).chain(rest).map(|(name, user)| (name.into(), user)).collect();
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
    server: {url}
    {verification}
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

#[cfg(test)]
mod tests {
    use super::*;

    fn cluster(ca: Option<&str>) -> Value {
        let text = kubeconfig("http://127.0.0.1:1", ca, &[]);
        serde_saphyr::from_str::<Value>(&text).unwrap()["clusters"][0]["cluster"].clone()
    }

    /// The npm client refuses a server without TLS unless it is told not to verify; kubectl refuses both entries at once.
    #[test]
    fn clients_verify_the_ca_or_nothing() {
        assert_eq!(cluster(None), json!({"server": "http://127.0.0.1:1", "insecure-skip-tls-verify": true}));
        let expected = json!({"server": "http://127.0.0.1:1", "certificate-authority-data": "cGVt"});
        assert_eq!(cluster(Some("pem")), expected);
    }
}
