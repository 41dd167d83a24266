//! Makes a [`Config`] from a kubeconfig.

use std::path::PathBuf;

use http::Uri;

use super::error_context::{with_location, with_paths};
use super::kubeconfig::{Selection, certificates_from_pem, merge_files, read_files};
use super::proxy::proxy_from_env;
use super::{AuthInfo, Cluster, Config, KubeConfigOptions, Kubeconfig, KubeconfigError};

impl Config {
    /// Reads the files listed in `KUBECONFIG`, or `~/.kube/config`, and selects from them by `options`.
    ///
    /// # Errors
    /// If a file, context or field is missing or wrong. The error says which one, and what was expected.
    pub async fn from_kubeconfig(options: &KubeConfigOptions) -> Result<Self, KubeconfigError> {
        // Blocking file reads, but short ones.
        load_files(read_files()?, options)
    }

    /// Selects from `kubeconfig` by `options`.
    ///
    /// Certificates and keys are loaded once here, so that a mistake is an error now and not at the first request.
    ///
    /// If the cluster has no `proxy-url`, the proxy comes from the environment, as for kubectl: `HTTPS_PROXY` (for an https URL) or
    /// `HTTP_PROXY`, in upper or lower case, unless `NO_PROXY` matches the server or the server is on this machine. A `proxy-url` is
    /// used regardless of `NO_PROXY`.
    ///
    /// ```
    /// use kube_client::Config;
    /// use kube_client::config::{KubeConfigOptions, Kubeconfig};
    ///
    /// const TEXT: &str = r#"
    /// apiVersion: v1
    /// kind: Config
    /// current-context: dev
    /// clusters: [{name: here, cluster: {server: "https://127.0.0.1:6443"}}]
    /// users: [{name: jane, user: {token: abc}}]
    /// contexts:
    /// - {name: dev, context: {cluster: here, user: jane}}
    /// - {name: stage, context: {cluster: here, user: jane, namespace: stage}}
    /// "#;
    /// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
    /// let stage = KubeConfigOptions { context: Some("stage".into()), ..KubeConfigOptions::default() };
    /// let config = Config::from_custom_kubeconfig(Kubeconfig::from_yaml(TEXT)?, &stage).await?;
    /// assert_eq!(config.default_namespace, "stage");
    /// # Ok::<(), kube_client::config::KubeconfigError>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If a context or field is missing or wrong. The error says which one, and what was expected.
    pub async fn from_custom_kubeconfig(
        mut kubeconfig: Kubeconfig,
        options: &KubeConfigOptions,
    ) -> Result<Self, KubeconfigError> {
        let Selection { cluster, auth_info, namespace, .. } = Selection::new(&mut kubeconfig, options)?;
        configure(&cluster, auth_info, namespace)
    }
}

impl TryFrom<Kubeconfig> for Config {
    type Error = KubeconfigError;

    fn try_from(mut kubeconfig: Kubeconfig) -> Result<Self, KubeconfigError> {
        let selection = Selection::new(&mut kubeconfig, &KubeConfigOptions::default())?;
        configure(&selection.cluster, selection.auth_info, selection.namespace)
    }
}

/// As `configure`, with the file, the cluster or user, and the value in errors.
fn load_files(
    files: Vec<(PathBuf, Kubeconfig)>,
    options: &KubeConfigOptions,
) -> Result<Config, KubeconfigError> {
    let (mut merged, files) = merge_files(files)?;
    let selection = Selection::new(&mut merged, options).map_err(|err| with_paths(err, &files))?;
    let Selection { cluster, auth_info, namespace, entries } = selection;
    configure(&cluster, auth_info, namespace).map_err(|err| with_location(err, &cluster, &entries, &files))
}

fn configure(
    cluster: &Cluster,
    auth_info: AuthInfo,
    namespace: Option<String>,
) -> Result<Config, KubeconfigError> {
    let ca_pem = cluster.load_certificate_authority()?;
    let identity = auth_info.load_client_identity()?;
    let insecure = cluster.insecure_skip_tls_verify.unwrap_or(false);
    let uses_tls = insecure || ca_pem.is_some() || identity.is_some();

    let mut config = Config::with_user(server_url(cluster, uses_tls)?, auth_info);
    if let Some(namespace) = namespace {
        config.default_namespace = namespace;
    }
    config.root_cert = ca_pem
        .map(|pem| certificates_from_pem(&pem).map_err(KubeconfigError::ParseCertificates))
        .transpose()?;
    config.root_cert_file = ca_file(cluster);
    config.accept_invalid_certs = insecure;
    config.proxy_url = match cluster.proxy_url.as_deref().filter(|url| !url.is_empty()) {
        Some(url) => Some(url.parse().map_err(KubeconfigError::ParseProxyUrl)?),
        None => proxy_from_env(&config.cluster_url)?,
    };
    config.disable_compression = cluster.disable_compression.unwrap_or(false);
    config.tls_server_name = cluster.tls_server_name.clone().filter(|name| !name.is_empty());
    Ok(config)
}

/// A URL without a scheme is https if certificates are configured, else http, as for kubectl.
fn server_url(cluster: &Cluster, uses_tls: bool) -> Result<Uri, KubeconfigError> {
    let server = cluster.server.as_deref().unwrap_or_default().trim();
    if server.is_empty() {
        return Err(KubeconfigError::MissingClusterUrl);
    }
    let url = if server.contains("://") {
        server.parse()
    } else {
        let scheme = if uses_tls { "https" } else { "http" };
        format!("{scheme}://{server}").parse()
    };
    url.map_err(KubeconfigError::ParseClusterUrl)
}

/// The file to read again when it changes. `None` with inline data, which wins over the file.
fn ca_file(cluster: &Cluster) -> Option<PathBuf> {
    let is_set = |value: &Option<String>| value.as_deref().is_some_and(|text| !text.is_empty());
    if is_set(&cluster.certificate_authority_data) || !is_set(&cluster.certificate_authority) {
        return None;
    }
    cluster.certificate_authority.as_ref().map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use base64::{Engine, engine::general_purpose::STANDARD};

    use super::*;

    fn yaml(cluster: &str, user: &str) -> Result<Config, KubeconfigError> {
        let text = format!(
            "clusters: [{{name: c, cluster: {{{cluster}}}}}]\nusers: [{{name: u, user: {{{user}}}}}]\n\
             contexts: [{{name: x, context: {{cluster: c, user: u}}}}]\ncurrent-context: x\n"
        );
        Config::try_from(Kubeconfig::from_yaml(&text)?)
    }

    #[test]
    fn a_missing_or_invalid_server_is_an_error() {
        assert!(matches!(yaml("", ""), Err(KubeconfigError::MissingClusterUrl)));
        assert!(matches!(yaml("server: ''", ""), Err(KubeconfigError::MissingClusterUrl)));
        assert!(matches!(yaml("server: 'https://a b'", ""), Err(KubeconfigError::ParseClusterUrl(_))));
    }

    #[test]
    fn a_server_without_scheme_is_http_or_https_by_its_certificates() {
        assert_eq!(yaml("server: 'localhost:8080'", "").unwrap().cluster_url, "http://localhost:8080/");
        let insecure = "server: 'localhost:6443', insecure-skip-tls-verify: true";
        assert_eq!(yaml(insecure, "").unwrap().cluster_url, "https://localhost:6443/");
    }

    #[test]
    fn ca_certificates_come_from_inline_data_or_a_file() {
        let ca = rcgen::generate_simple_self_signed(vec!["host".into()]).unwrap();
        let data = STANDARD.encode(ca.cert.pem());
        let config = yaml(&format!("server: 'https://a', certificate-authority-data: {data}"), "").unwrap();
        assert_eq!(config.root_cert.unwrap(), [ca.cert.der().to_vec()]);
        assert_eq!(config.root_cert_file, None);

        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), ca.cert.pem()).unwrap();
        let path = file.path().display();
        let config = yaml(&format!("server: 'https://a', certificate-authority: '{path}'"), "").unwrap();
        assert_eq!(config.root_cert_file.as_deref(), Some(file.path()));

        let missing = yaml("server: 'https://a', certificate-authority: /no/such/ca.crt", "");
        assert!(matches!(missing, Err(KubeconfigError::LoadCertificateAuthority(_))));
        let garbage = STANDARD.encode("garbage");
        let garbage = yaml(&format!("server: 'https://a', certificate-authority-data: {garbage}"), "");
        assert!(matches!(garbage, Err(KubeconfigError::ParseCertificates(_))));
        let not_base64 = yaml("server: 'https://a', certificate-authority-data: '%%'", "");
        assert!(matches!(not_base64, Err(KubeconfigError::LoadCertificateAuthority(_))));
    }

    #[test]
    fn an_unreadable_key_is_an_error() {
        let result =
            yaml("server: 'https://a'", "client-certificate-data: aGVsbG8=, client-key: /no/such.key");
        assert!(matches!(result, Err(KubeconfigError::LoadClientKey(_))));
    }
}
