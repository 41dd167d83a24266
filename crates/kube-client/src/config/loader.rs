//! Makes a [`Config`] from a kubeconfig.

use std::path::PathBuf;

use http::Uri;

use super::contradictions::{check_cluster, check_user, sendable};
use super::error_context::{with_location, with_paths};
use super::kubeconfig::{Selection, certificates_from_pem, merge_files};
use super::proxy::proxy_from_env;
use super::url::{Schemes, parse_url};
use super::{Cluster, Config, KubeConfigOptions, Kubeconfig, KubeconfigError, UserOrigin};

impl Config {
    /// Selects from `kubeconfig` by `options`.
    ///
    /// Certificates and keys are loaded once here, so that a mistake is an error now and not at the first request.
    ///
    /// If the cluster has no `proxy-url`, the proxy comes from the environment, as for kubectl: `HTTPS_PROXY` (for an https URL) or
    /// `HTTP_PROXY`, in upper or lower case, unless `NO_PROXY` matches the server or the server is on this machine. A `proxy-url` is
    /// used regardless of `NO_PROXY`.
    ///
    /// If the server's URL is `http://` and its host is not this machine, no credential of the user is taken, with a warning, as by
    /// kubectl.
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
        configure(&Selection::new(&mut kubeconfig, options)?)
    }
}

#[cfg(all(test, feature = "oidc"))]
impl Config {
    /// As [`Config::from_kubeconfig`] with these files in `KUBECONFIG`.
    pub(crate) fn of_files(paths: &[PathBuf], options: &KubeConfigOptions) -> Result<Self, KubeconfigError> {
        let read = paths.iter().map(|path| Ok((path.clone(), Kubeconfig::read_from(path)?)));
        load_files(read.collect::<Result<_, _>>()?, options).map(|(config, _)| config)
    }
}

impl TryFrom<Kubeconfig> for Config {
    type Error = KubeconfigError;

    fn try_from(mut kubeconfig: Kubeconfig) -> Result<Self, KubeconfigError> {
        configure(&Selection::new(&mut kubeconfig, &KubeConfigOptions::default())?)
    }
}

/// As `configure`, with the file, the cluster or user, and the value in errors. Returns also what selects the same entries again.
pub(super) fn load_files(
    files: Vec<(PathBuf, Kubeconfig)>,
    options: &KubeConfigOptions,
) -> Result<(Config, KubeConfigOptions), KubeconfigError> {
    let (mut merged, files) = merge_files(files)?;
    let selection = Selection::new(&mut merged, options).map_err(|err| with_paths(err, &files))?;
    let selected = selection.entries.options();
    let mut config = configure(&selection).map_err(|err| with_location(err, &selection, &files))?;
    config.user_origin = selection.entries.user.and_then(|(index, user)| {
        let file = files.iter().find(|file| index < file.users)?;
        Some(UserOrigin { path: file.path.clone(), user })
    });
    Ok((config, selected))
}

fn configure(selection: &Selection) -> Result<Config, KubeconfigError> {
    let Selection { cluster, auth_info, namespace, entries } = selection;
    check_cluster(&entries.cluster.1, cluster)?;
    check_user(entries.user.as_ref().map_or("", |(_, name)| name), auth_info)?;
    let ca_pem = cluster.load_certificate_authority()?;
    let identity = auth_info.load_client_identity()?;
    let insecure = cluster.insecure_skip_tls_verify.unwrap_or(false);
    let uses_tls = insecure || ca_pem.is_some() || identity.is_some();

    let url = server_url(cluster, uses_tls)?;
    let auth_info = sendable(auth_info.clone(), &url);
    let mut config = Config::with_user(url, auth_info);
    if let Some(namespace) = namespace {
        config.default_namespace.clone_from(namespace);
    }
    config.root_cert = ca_pem
        .map(|pem| certificates_from_pem(&pem).map_err(KubeconfigError::ParseCertificates))
        .transpose()?;
    config.root_cert_file = ca_file(cluster);
    config.accept_invalid_certs = insecure;
    config.proxy_url = match cluster.proxy_url.as_deref().filter(|url| !url.is_empty()) {
        Some(url) => Some(parse_url(url, Schemes::Proxy).map_err(KubeconfigError::ParseProxyUrl)?),
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
        parse_url(server, Schemes::Http)
    } else {
        let scheme = if uses_tls { "https" } else { "http" };
        parse_url(&format!("{scheme}://{server}"), Schemes::Http)
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
    fn a_port_that_is_no_number_is_an_error() {
        for server in [
            "https://h:180990",
            "https://h:65536",
            "https://h:8080x",
            "h:99999",
            "https://me:hush@h:6443x",
            "https://me:hush#x@h",
            "https://me:hush?x@h",
            "https://h:-1",
            "https://h:+80",
            "https://:6443",
            "https://",
            "ftp://h",
            "//h",
        ] {
            let err = yaml(&format!("server: '{server}'"), "token: t").unwrap_err();
            assert!(matches!(err, KubeconfigError::ParseClusterUrl(_)), "{server}: {err}");
            let err = yaml(&format!("server: 'https://h', proxy-url: '{server}'"), "token: t").unwrap_err();
            assert!(matches!(err, KubeconfigError::ParseProxyUrl(_)), "{server}: {err}");
        }
        for (server, url) in [
            ("https://h:", "https://h:/"),
            ("https://h:08443/x?y#z", "https://h:08443/x?y"),
            ("HTTPS://[::1]:6443", "https://[::1]:6443/"),
            ("https://me:p%40@h:65535", "https://me:p%40@h:65535/"),
        ] {
            assert_eq!(yaml(&format!("server: '{server}'"), "").unwrap().cluster_url, url);
        }
        let socks = yaml("server: 'https://h', proxy-url: 'SOCKS5://p'", "").unwrap();
        assert_eq!(socks.proxy_url.unwrap(), "socks5://p/");
    }

    #[test]
    fn credentials_are_not_sent_over_http_to_another_host() {
        let user = "token: t, tokenFile: /t, username: n, password: p, exec: {command: x}, \
                    auth-provider: {name: oidc}, client-certificate-data: YQ==, client-key-data: YQ==, as: jane";
        for server in ["http://10.0.0.1:8080", "HTTP://example.com", "http://localhost.example.com"] {
            let kept = yaml(&format!("server: '{server}'"), user).unwrap().auth_info;
            assert!(kept.token.is_none() && kept.token_file.is_none(), "{server}");
            assert!(kept.username.is_none() && kept.password.is_none());
            assert!(kept.exec.is_none() && kept.auth_provider.is_none());
            assert!(kept.client_certificate_data.is_none() && kept.client_key_data.is_none());
            assert_eq!(kept.impersonate.as_deref(), Some("jane"));
        }
        for server in ["http://127.0.0.9:8001", "http://[::1]:8001", "http://localhost", "https://10.0.0.1"] {
            let kept = yaml(&format!("server: '{server}'"), user).unwrap().auth_info;
            assert!(kept.token.is_some() && kept.exec.is_some(), "{server}");
        }
        // What the URL itself has is sent, as by kubectl.
        let url = yaml("server: 'http://me:pw@10.0.0.1'", user).unwrap().cluster_url;
        assert_eq!(url, "http://me:pw@10.0.0.1/");
    }

    #[test]
    fn settings_that_contradict_each_other_are_errors() {
        let refused = |cluster: &str, user: &str, text: &str| {
            let err = yaml(cluster, user).unwrap_err().to_string();
            assert!(err.contains(text), "{err}");
        };
        let insecure = "server: 'https://h', insecure-skip-tls-verify: true";
        for ca in ["certificate-authority: /no/such/file", "certificate-authority-data: YQ=="] {
            refused(&format!("{insecure}, {ca}"), "", "cluster \"c\"");
            refused(&format!("{insecure}, {ca}"), "", "insecure-skip-tls-verify");
        }
        let empty = "certificate-authority: '', certificate-authority-data: ''";
        assert!(yaml(&format!("{insecure}, {empty}"), "").unwrap().accept_invalid_certs);
        for user in ["as-groups: [g]", "as-uid: '5'", "as-user-extra: {k: [v]}", "as: '', as-groups: [g]"] {
            refused(insecure, user, "user \"u\"");
            refused(insecure, user, "without `as`");
        }
        assert!(yaml(insecure, "as-groups: [], as-user-extra: {}, as-uid: ''").is_ok());
    }

    #[test]
    fn an_unreadable_key_is_an_error() {
        let result =
            yaml("server: 'https://a'", "client-certificate-data: aGVsbG8=, client-key: /no/such.key");
        assert!(matches!(result, Err(KubeconfigError::LoadClientKey(_))));
    }
}
