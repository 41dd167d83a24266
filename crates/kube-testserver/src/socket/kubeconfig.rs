use base64::{Engine, prelude::BASE64_STANDARD};

/// A kubeconfig with one context, `testserver`, in the namespace `default`. The server asks for no credentials; but over
/// TLS `kubectl` would ask for a user name if there were none, so there is a token.
pub(super) fn kubeconfig(url: &str, ca: Option<&str>) -> String {
    let authority =
        ca.map(|pem| format!("\n    certificate-authority-data: {}", BASE64_STANDARD.encode(pem)));
    let authority = authority.unwrap_or_default();
    let user = if ca.is_some() { "{token: anyone}" } else { "{}" };
    format!(
        "apiVersion: v1
kind: Config
clusters:
- name: testserver
  cluster:
    server: {url}{authority}
contexts:
- name: testserver
  context:
    cluster: testserver
    namespace: default
    user: testserver
current-context: testserver
users:
- name: testserver
  user: {user}
"
    )
}
