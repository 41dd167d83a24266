//! The in-cluster configuration: environment variables and service account files of a pod.

use std::env::VarError;
use std::io::ErrorKind;
use std::path::PathBuf;

use http::Uri;

use super::error::{CA_FILE, NAMESPACE_FILE, TOKEN_FILE};
use super::kubeconfig::certificates_from_pem;
use super::url::{Schemes, parse_url};
use super::{Config, InClusterError};

impl Config {
    /// The in-cluster configuration of the pod that this process runs in: the same as [`Config::incluster_env`].
    ///
    /// # Errors
    /// If a variable or file is missing or invalid; [`InClusterError::ReadEnvironmentVariable`] outside of a cluster.
    pub fn incluster() -> Result<Self, InClusterError> {
        Self::incluster_env()
    }

    /// The in-cluster configuration, with the API server's address from `KUBERNETES_SERVICE_HOST` and `KUBERNETES_SERVICE_PORT`.
    ///
    /// The token and the CA certificates are files that the cluster replaces from time to time; both are read again when they
    /// change. The default namespace is the pod's, or `default` if its file is missing or empty. Proxies of the environment are not used:
    /// set [`Config::proxy_url`] if the server is behind one.
    ///
    /// # Errors
    /// As [`Config::incluster`].
    pub fn incluster_env() -> Result<Self, InClusterError> {
        let url = url_from_env(|name| std::env::var(name))?;
        ServiceAccountFiles::default().config(url)
    }

    /// The in-cluster configuration, with the API server's DNS name: `https://kubernetes.default.svc`.
    ///
    /// # Errors
    /// As [`Config::incluster`].
    pub fn incluster_dns() -> Result<Self, InClusterError> {
        ServiceAccountFiles::default().config(Uri::from_static("https://kubernetes.default.svc/"))
    }
}

/// The service account files that the kubelet mounts into a pod.
struct ServiceAccountFiles {
    ca: PathBuf,
    token: PathBuf,
    namespace: PathBuf,
}

impl Default for ServiceAccountFiles {
    fn default() -> Self {
        Self { ca: CA_FILE.into(), token: TOKEN_FILE.into(), namespace: NAMESPACE_FILE.into() }
    }
}

impl ServiceAccountFiles {
    fn config(self, url: Uri) -> Result<Config, InClusterError> {
        let ca_pem = std::fs::read(&self.ca).map_err(InClusterError::ReadCertificateBundle)?;
        let namespace = match std::fs::read_to_string(&self.namespace) {
            Err(err) if err.kind() == ErrorKind::NotFound => String::new(),
            read => read.map_err(InClusterError::ReadDefaultNamespace)?,
        };
        let mut config = Config::new(url);
        config.root_cert = Some(certificates_from_pem(&ca_pem).map_err(InClusterError::ParseCertificates)?);
        config.root_cert_file = Some(self.ca);
        // An empty namespace would be all namespaces. It stays `default`, as for kubectl.
        if !namespace.trim().is_empty() {
            config.default_namespace = namespace.trim().to_owned();
        }
        config.auth_info.token_file = Some(self.token.to_string_lossy().into_owned());
        #[cfg(feature = "client")]
        {
            config.origin = super::settings::Origin::Pod;
        }
        Ok(config)
    }
}

fn url_from_env(variable: impl Fn(&str) -> Result<String, VarError>) -> Result<Uri, InClusterError> {
    let get = |name| {
        variable(name)
            .and_then(|value| if value.is_empty() { Err(VarError::NotPresent) } else { Ok(value) })
            .map_err(InClusterError::ReadEnvironmentVariable)
    };
    let host = get("KUBERNETES_SERVICE_HOST")?;
    let port = get("KUBERNETES_SERVICE_PORT")?;
    let port: u16 = port.parse().map_err(InClusterError::ParseClusterPort)?;
    let host = if host.contains(':') && !host.starts_with('[') { format!("[{host}]") } else { host };
    parse_url(&format!("https://{host}:{port}/"), Schemes::Http).map_err(InClusterError::ParseClusterUrl)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(host: &str, port: &str) -> Result<Uri, InClusterError> {
        url_from_env(|name| {
            let value = if name.ends_with("HOST") { host } else { port };
            if value == "unset" { Err(VarError::NotPresent) } else { Ok(value.to_owned()) }
        })
    }

    #[test]
    fn the_url_is_built_from_host_and_port() {
        assert_eq!(url("10.0.0.1", "443").unwrap(), "https://10.0.0.1:443/");
        assert_eq!(url("fd00::1", "6443").unwrap(), "https://[fd00::1]:6443/");
        assert_eq!(url("api.local", "1").unwrap(), "https://api.local:1/");
    }

    #[test]
    fn missing_and_invalid_variables_are_errors() {
        assert!(matches!(url("unset", "1"), Err(InClusterError::ReadEnvironmentVariable(_))));
        assert!(matches!(url("", "1"), Err(InClusterError::ReadEnvironmentVariable(_))));
        assert!(matches!(url("a", "many"), Err(InClusterError::ParseClusterPort(_))));
        assert!(matches!(url("a b", "1"), Err(InClusterError::ParseClusterUrl(_))));
    }

    #[test]
    fn the_configuration_is_read_from_the_service_account_files() {
        let directory = tempfile::tempdir().unwrap();
        let files = || ServiceAccountFiles {
            ca: directory.path().join("ca.crt"),
            token: directory.path().join("token"),
            namespace: directory.path().join("namespace"),
        };
        let uri = || Uri::from_static("https://host/");
        assert!(matches!(files().config(uri()), Err(InClusterError::ReadCertificateBundle(_))));
        std::fs::write(directory.path().join("namespace"), "apps\n").unwrap();
        std::fs::write(directory.path().join("ca.crt"), "no pem").unwrap();
        assert!(matches!(files().config(uri()), Err(InClusterError::ParseCertificates(_))));
        let ca = rcgen::generate_simple_self_signed(vec!["host".into()]).unwrap();
        std::fs::write(directory.path().join("ca.crt"), ca.cert.pem()).unwrap();
        let config = files().config(uri()).unwrap();
        #[cfg(feature = "client")]
        assert!(config.clone().follow().unwrap().followed().is_none(), "there is nothing to read but files");
        assert_eq!(config.default_namespace, "apps");
        assert_eq!(config.root_cert.unwrap(), [ca.cert.der().to_vec()]);
        assert!(config.auth_info.token_file.unwrap().ends_with("token"));
    }

    #[test]
    fn without_a_namespace_file_or_with_an_empty_one_the_namespace_is_default() {
        let directory = tempfile::tempdir().unwrap();
        let file = |name: &str| directory.path().join(name);
        let config = || {
            ServiceAccountFiles { ca: file("ca.crt"), token: file("token"), namespace: file("namespace") }
                .config(Uri::from_static("https://host/"))
        };
        let ca = rcgen::generate_simple_self_signed(vec!["host".into()]).unwrap();
        std::fs::write(file("ca.crt"), ca.cert.pem()).unwrap();
        assert_eq!(config().unwrap().default_namespace, "default");
        for content in ["", "\n", "  "] {
            std::fs::write(file("namespace"), content).unwrap();
            assert_eq!(config().unwrap().default_namespace, "default", "{content:?}");
        }
        std::fs::write(file("namespace"), [0xFF]).unwrap();
        assert!(matches!(config(), Err(InClusterError::ReadDefaultNamespace(_))));
    }

    /// In a separate process, whose environment differs from that of the other tests.
    #[test]
    fn the_proxies_of_the_environment_are_not_used_in_a_pod() {
        const NAME: &str = "config::incluster::tests::the_proxies_of_the_environment_are_not_used_in_a_pod";
        const CHILD: &str = "KUBE_CLIENT_TEST_CHILD";
        if std::env::var_os(CHILD).is_none() {
            let mut child = std::process::Command::new(std::env::current_exe().unwrap());
            child.env("HTTPS_PROXY", "http://proxy:3128").env_remove("NO_PROXY").env_remove("no_proxy");
            let output = child.args(["--exact", NAME]).env(CHILD, "1").output().unwrap();
            let printed = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success() && printed.contains("1 passed"), "{printed}");
            return;
        }
        let directory = tempfile::tempdir().unwrap();
        let file = |name: &str| directory.path().join(name);
        let ca = rcgen::generate_simple_self_signed(vec!["host".into()]).unwrap();
        std::fs::write(file("ca.crt"), ca.cert.pem()).unwrap();
        std::fs::write(file("namespace"), "apps").unwrap();
        let files =
            ServiceAccountFiles { ca: file("ca.crt"), token: file("token"), namespace: file("namespace") };
        let url = Uri::from_static("https://10.0.0.1/");
        assert!(crate::config::proxy::proxy_from_env(&url).unwrap().is_some(), "a kubeconfig would use it");
        assert_eq!(files.config(url).unwrap().proxy_url, None);
    }
}
