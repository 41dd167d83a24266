//! Kubeconfigs as common tools write them, and invalid ones: the configuration of each, or the exact error.
//!
//! The certificates in `corpus/pki` are made for this test only.

use std::path::{Path, PathBuf};

use kube_client::config::{AuthInfo, Kubeconfig, KubeconfigError};
use kube_client::error::ErrorChain;
use kube_client::{Client, Config};
use secrecy::ExposeSecret;

/// The file, or files in the order of `KUBECONFIG`, and the summary of its configuration.
const VALID: &[(&str, &str)] = &[
    (
        "minikube.yaml",
        "https://192.168.49.2:8443/ in default; CA certificates: 1 in DIR/pki/ca.crt; certificate DIR/pki/client.crt DIR/pki/client.key",
    ),
    ("kind.yaml", "https://127.0.0.1:40123/ in default; CA certificates: 1; certificate inline"),
    ("k3s.yaml", "https://127.0.0.1:6443/ in default; CA certificates: 1; certificate inline"),
    (
        "eks.yaml",
        "https://0123456789ABCDEF0123456789ABCDEF.gr7.eu-west-1.eks.amazonaws.com/ in default; CA certificates: 1; \
         exec v1beta1 aws --region eu-west-1 eks get-token --cluster-name prod --output json AWS_PROFILE=operations IfAvailable",
    ),
    (
        "gke.yaml",
        "https://203.0.113.7/ in default; CA certificates: 1; exec v1beta1 gke-gcloud-auth-plugin hint cluster https://203.0.113.7 with 1 CA certificates",
    ),
    (
        "aks.yaml",
        "https://prod-dns-0a1b2c3d.hcp.westeurope.azmk8s.io:443/ in default; CA certificates: 1; \
         exec v1beta1 kubelogin get-token --login azurecli --server-id 6dae42f8-4368-4678-94ff-3960e28e3630 hint",
    ),
    (
        "oidc.yaml",
        "https://k8s.example.com:6443/ in team-a; provider oidc with client-id, client-secret, id-token, idp-certificate-authority, \
         idp-issuer-url, refresh-token",
    ),
    (
        "oidc-login.yaml",
        "https://k8s.example.com:6443/ in default; exec v1 kubectl oidc-login get-token --oidc-issuer-url=https://issuer.example.com \
         --oidc-client-id=kubernetes Always",
    ),
    (
        "gcp-provider.yaml",
        "https://203.0.113.7/ in default; provider gcp with access-token, cmd-args, cmd-path, expiry, expiry-key, token-key",
    ),
    ("openshift.yaml", "https://api.crc.testing:6443/ in demo; insecure; token of 32"),
    (
        "everything.yaml",
        "https://10.0.0.1:6443/k8s/clusters/c-m-abc in kube-system; CA certificates: 1 in DIR/./pki/ca.crt; name kubernetes.default.svc; \
         proxy; plain; token file DIR/pki/token; as jane@example.com 42 [\"ops\", \"night shift\"] {\"example.com/team\": [\"blue\"]}",
    ),
    ("config.json", "http://localhost:8080/ in default; user jane"),
    (
        "merge/base.yaml:merge/team/config",
        "https://base:6443/ in default; CA certificates: 1 in DIR/merge/../pki/ca.crt; token of 10",
    ),
    (
        "merge/team/config:merge/base.yaml",
        "no cluster named \"never\" (the kubeconfig has \"shared\", \"own\")",
    ),
];

/// The file in `broken/`, and the error with its causes.
const INVALID: &[(&str, &str)] = &[
    (
        "view-of-nothing",
        "the kubeconfig has no `current-context`: set one (`kubectl config use-context NAME`) or select a context",
    ),
    (
        "no-current-context",
        "the kubeconfig has no `current-context`: set one (`kubectl config use-context NAME`) or select a context",
    ),
    ("context-of-another-file", "no context named \"elsewhere\" (the kubeconfig has \"x\")"),
    ("cluster-of-another-file", "no cluster named \"d\" (the kubeconfig has \"c\")"),
    (
        "user-of-another-file",
        "the context refers to user \"v\", which does not exist (the kubeconfig has \"u\")",
    ),
    ("no-server", "the cluster has no `server`: expected a URL such as https://host:6443"),
    (
        "server-with-spaces",
        "the cluster's `server` is not a URL: expected one such as https://host:6443, with a port up to \
         65535: invalid uri character",
    ),
    (
        "proxy-with-spaces",
        "the proxy (`proxy-url` of the cluster, else HTTPS_PROXY or HTTP_PROXY) is not a URL: expected one such as http://host:3128, with \
         a port up to 65535: invalid uri character",
    ),
    (
        "authority-not-base64",
        "cannot load the cluster's `certificate-authority`: its `-data` is not base64: Invalid symbol 37, offset 0.",
    ),
    (
        "authority-not-pem",
        "the cluster's `certificate-authority` is not a list of PEM certificates: malformedframing",
    ),
    (
        "authority-missing",
        "cannot load the cluster's `certificate-authority`: cannot read DIR/gone/ca.crt: No such file or directory (os error 2)",
    ),
    (
        "key-missing",
        "cannot load the user's `client-key`: cannot read DIR/gone/client.key: No such file or directory (os error 2)",
    ),
    (
        "certificate-without-key",
        "cannot load the user's `client-key`: neither the file nor its `-data` is set",
    ),
    (
        "clusters-as-map",
        "not a kubeconfig: DIR/clusters-as-map.yaml: clusters: expected sequence start at line 3, column 11",
    ),
    (
        "name-missing",
        "the kubeconfig has no `current-context`: set one (`kubectl config use-context NAME`) or select a context",
    ),
    (
        "tabs",
        "not a kubeconfig: DIR/tabs.yaml: tabs disallowed within this context (block indentation) at line 2, column 2",
    ),
    (
        "quoted-yes",
        "not a kubeconfig: DIR/quoted-yes.yaml: clusters[0].cluster.insecure-skip-tls-verify: invalid type: string, expected true or false \
         without quotes at line 7, column 5",
    ),
    (
        "twins",
        "not a kubeconfig: DIR/twins.yaml: `clusters` has the name \"prod\" twice: expected each name once",
    ),
    ("cut-off", "not a kubeconfig: DIR/cut-off.yaml: unclosed bracket '{' at line 1, column 31"),
    ("html", "not a kubeconfig: DIR/html.yaml: expected mapping start at line 1, column 1"),
    (
        "exec-mode",
        "user \"u\" has `exec.interactiveMode` \"Sometimes\": expected \"Never\", \"IfAvailable\" or \"Always\"",
    ),
    ("exec-without-command", "auth error: the user's `exec` has no `command`"),
    (
        "exec-of-old",
        "auth error: the user's `exec` has apiVersion \"client.authentication.k8s.io/v1alpha1\": expected \
         client.authentication.k8s.io/v1 or /v1beta1",
    ),
    (
        "provider-of-old",
        "auth error: the user's auth-provider \"azure\" is not supported (oidc and gcp are): use an `exec` plugin instead",
    ),
    (
        "token-with-line-break",
        "auth error: the bearer token has characters that are not valid in a header (a line break in the middle?): \
         failed to parse header value",
    ),
    (
        "key-of-another",
        "rustls tls error: there is no private key in the client key's PEM: expected PKCS#8, PKCS#1 or SEC1",
    ),
];

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/corpus")
}

/// Reads and merges as `KUBECONFIG` does.
fn read(files: &str) -> Result<Kubeconfig, KubeconfigError> {
    let mut read = files.split(':').map(|file| Kubeconfig::read_from(corpus().join(file)));
    let first = read.next().expect("there is a file")?;
    read.try_fold(first, |merged, next| merged.merge(next?))
}

/// The text of `{}`.
fn message(err: &(dyn std::error::Error + 'static)) -> String {
    let message = err.to_string();
    assert_eq!(message, ErrorChain(err).to_string(), "`{{}}` has the causes");
    message
}

fn summary(config: &Config) -> String {
    let mut parts = vec![format!("{} in {}", config.cluster_url, config.default_namespace)];
    if let Some(certificates) = &config.root_cert {
        let file = config.root_cert_file.as_ref().map(|file| format!(" in {}", file.display()));
        parts.push(format!("CA certificates: {}{}", certificates.len(), file.unwrap_or_default()));
    }
    let mut add_if = |condition: bool, text: String| parts.extend(condition.then_some(text));
    add_if(config.accept_invalid_certs, "insecure".into());
    add_if(
        config.tls_server_name.is_some(),
        format!("name {}", config.tls_server_name.as_deref().unwrap_or("")),
    );
    add_if(config.proxy_url.is_some(), "proxy".into());
    add_if(config.disable_compression, "plain".into());
    parts.extend(credentials(&config.auth_info));
    parts.join("; ")
}

fn credentials(user: &AuthInfo) -> Vec<String> {
    let mut parts = Vec::new();
    if let (Some(certificate), Some(key)) = (&user.client_certificate, &user.client_key) {
        parts.push(format!("certificate {certificate} {key}"));
    }
    if user.client_certificate_data.is_some() && user.client_key_data.is_some() {
        parts.push("certificate inline".to_owned());
    }
    parts.extend(user.token.as_ref().map(|token| format!("token of {}", token.expose_secret().len())));
    parts.extend(user.token_file.as_ref().map(|file| format!("token file {file}")));
    parts.extend(user.username.as_ref().map(|name| format!("user {name}")));
    if let Some(provider) = &user.auth_provider {
        let mut keys: Vec<_> = provider.config.keys().map(String::as_str).collect();
        keys.sort_unstable();
        parts.push(format!("provider {} with {}", provider.name, keys.join(", ")));
    }
    if let Some(exec) = &user.exec {
        let version = exec.api_version.as_deref().and_then(|version| version.rsplit('/').next());
        let mut text = vec!["exec".to_owned(), version.unwrap_or("").to_owned()];
        text.extend(exec.command.clone());
        text.extend(exec.args.iter().flatten().cloned());
        text.extend(
            exec.env.iter().flatten().map(|variable| format!("{}={}", variable["name"], variable["value"])),
        );
        text.extend(exec.interactive_mode.as_ref().map(|mode| format!("{mode:?}")));
        text.extend(exec.install_hint.as_ref().map(|_| "hint".to_owned()));
        text.extend(exec.cluster.as_ref().map(|cluster| {
            let pem = String::from_utf8_lossy(cluster.certificate_authority_data.as_deref().unwrap_or(b""));
            let certificates = pem.matches("BEGIN CERTIFICATE").count();
            format!("cluster {} with {certificates} CA certificates", cluster.server.as_deref().unwrap_or(""))
        }));
        parts.push(text.join(" "));
    }
    if let Some(name) = &user.impersonate {
        let uid = user.impersonate_uid.as_deref().unwrap_or("");
        let groups = user.impersonate_groups.as_deref().unwrap_or(&[]);
        let extra = user.impersonate_user_extra.clone().unwrap_or_default();
        parts.push(format!("as {name} {uid} {groups:?} {extra:?}"));
    }
    parts
}

/// Reports all differences at once.
fn compare(outcomes: impl Iterator<Item = (String, String, &'static str)>) {
    let differing: Vec<_> = outcomes
        .filter(|(_, outcome, expected)| outcome != expected)
        .map(|(file, outcome, expected)| format!("{file}\n  is       {outcome}\n  expected {expected}"))
        .collect();
    assert!(differing.is_empty(), "\n{}", differing.join("\n"));
}

fn without_directory(text: &str, directory: &Path) -> String {
    text.replace(directory.to_str().expect("the checkout's path is UTF-8"), "DIR")
}

#[test]
fn each_valid_kubeconfig_makes_the_expected_configuration() {
    compare(VALID.iter().map(|(files, expected)| {
        let outcome = read(files).and_then(Config::try_from);
        let outcome = outcome.map_or_else(|err| message(&err), |config| summary(&config));
        ((*files).to_owned(), without_directory(&outcome, &corpus()), *expected)
    }));
}

#[tokio::test]
async fn each_invalid_kubeconfig_fails_with_the_exact_error() {
    let directory = corpus().join("broken");
    compare(INVALID.iter().map(|(name, expected)| {
        let outcome = read(&format!("broken/{name}.yaml")).and_then(Config::try_from);
        let outcome = match outcome.map(Client::try_from) {
            Ok(Ok(_)) => "a client".to_owned(),
            Ok(Err(err)) => message(&err),
            Err(err) => message(&err),
        };
        ((*name).to_owned(), without_directory(&outcome, &directory), *expected)
    }));
}

#[test]
fn every_file_of_the_corpus_is_tested() {
    let tables = VALID.iter().chain(INVALID).map(|(files, _)| *files).collect::<Vec<_>>().join(" ");
    for directory in [corpus(), corpus().join("broken")] {
        for entry in std::fs::read_dir(directory).expect("the corpus exists") {
            let path = entry.expect("its files can be listed").path();
            let name = path.file_stem().and_then(|name| name.to_str()).expect("names are UTF-8");
            assert!(path.is_dir() || tables.contains(name), "{name} is in no table");
        }
    }
}

#[test]
fn unknown_keys_are_written_back() {
    let config = read("everything.yaml").expect("the file can be read");
    let written = serde_json::to_value(&config).expect("it can be written");
    assert_eq!(written["unknown-top"]["kept"], true);
    assert_eq!(written["clusters"][0]["cluster"]["unknown-cluster-key"][1], 2);
    assert_eq!(written["contexts"][0]["context"]["unknown-context-key"], "why");
    assert_eq!(written["users"][0]["user"]["unknown-user-key"], "z");
}
