//! Certificates and keys, which a kubeconfig has inline (base64) or by file name.

use std::path::Path;

use base64::{Engine, engine::general_purpose::STANDARD};
use secrecy::{ExposeSecret, SecretString};

use super::{AuthInfo, Cluster, ExecAuthCluster};
use crate::config::{KubeconfigError, LoadDataError};

/// A client certificate with its key, both PEM.
#[derive(Debug)]
#[cfg_attr(not(feature = "client"), expect(dead_code, reason = "checked while loading, used by TLS"))]
pub(crate) struct ClientIdentityPem {
    /// The certificate and its intermediate certificates.
    pub(crate) certificate: Vec<u8>,
    /// Its private key.
    pub(crate) key: SecretString,
}

#[cfg(feature = "client")]
impl ClientIdentityPem {
    /// Whether certificate and key are the same text in `other`.
    pub(crate) fn is(&self, other: &Self) -> bool {
        self.certificate == other.certificate && self.key.expose_secret() == other.key.expose_secret()
    }
}

impl Cluster {
    /// PEM text of the CA certificates, if any are configured.
    pub(in crate::config) fn load_certificate_authority(&self) -> Result<Option<Vec<u8>>, KubeconfigError> {
        load(self.certificate_authority_data.as_deref(), self.certificate_authority.as_deref())
            .map_err(KubeconfigError::LoadCertificateAuthority)
    }
}

impl AuthInfo {
    /// Only the client certificate and key, of which a copy is kept to read their files again.
    #[cfg(feature = "client")]
    pub(crate) fn only_identity(&self) -> Self {
        Self {
            client_certificate: self.client_certificate.clone(),
            client_certificate_data: self.client_certificate_data.clone(),
            client_key: self.client_key.clone(),
            client_key_data: self.client_key_data.clone(),
            ..Self::default()
        }
    }

    /// The client certificate and key, if either is configured.
    pub(crate) fn load_client_identity(&self) -> Result<Option<ClientIdentityPem>, KubeconfigError> {
        let key_data = self.client_key_data.as_ref().map(ExposeSecret::expose_secret);
        let certificate = load(self.client_certificate_data.as_deref(), self.client_certificate.as_deref())
            .map_err(KubeconfigError::LoadClientCertificate)?;
        let key = load(key_data, self.client_key.as_deref()).map_err(KubeconfigError::LoadClientKey)?;
        match (certificate, key) {
            (None, None) => Ok(None),
            (None, Some(_)) => Err(KubeconfigError::LoadClientCertificate(LoadDataError::NoBase64DataOrFile)),
            (Some(_), None) => Err(KubeconfigError::LoadClientKey(LoadDataError::NoBase64DataOrFile)),
            (Some(certificate), Some(key)) => {
                let key = String::from_utf8_lossy(&key).into_owned();
                Ok(Some(ClientIdentityPem { certificate, key: SecretString::from(key) }))
            }
        }
    }
}

impl TryFrom<&Cluster> for ExecAuthCluster {
    type Error = KubeconfigError;

    fn try_from(cluster: &Cluster) -> Result<Self, KubeconfigError> {
        let config = cluster.extensions.iter().flatten().find(|extension| extension.name == EXEC_EXTENSION);
        Ok(Self {
            server: cluster.server.clone(),
            insecure_skip_tls_verify: cluster.insecure_skip_tls_verify,
            certificate_authority_data: cluster.load_certificate_authority()?,
            proxy_url: cluster.proxy_url.clone(),
            tls_server_name: cluster.tls_server_name.clone(),
            config: config.map(|extension| extension.extension.clone()),
        })
    }
}

/// Name of the cluster extension that is passed to exec plugins.
const EXEC_EXTENSION: &str = "client.authentication.k8s.io/exec";

/// The DER form of every certificate in PEM text.
pub(crate) fn certificates_from_pem(text: &[u8]) -> Result<Vec<Vec<u8>>, pem::PemError> {
    let sections = pem::parse_many(text)?;
    let certificates: Vec<_> = sections
        .into_iter()
        .filter(|section| section.tag() == "CERTIFICATE")
        .map(pem::Pem::into_contents)
        .collect();
    if certificates.is_empty() { Err(pem::PemError::MalformedFraming) } else { Ok(certificates) }
}

/// Inline data wins over the file; an empty string is treated as absent.
fn load(data: Option<&str>, file: Option<&str>) -> Result<Option<Vec<u8>>, LoadDataError> {
    if let Some(data) = data.filter(|data| !data.is_empty()) {
        let compact: String = data.split_ascii_whitespace().collect();
        return STANDARD.decode(compact).map(Some).map_err(LoadDataError::DecodeBase64);
    }
    match file.filter(|file| !file.is_empty()) {
        Some(file) => std::fs::read(file)
            .map(Some)
            .map_err(|err| LoadDataError::ReadFile(err, Path::new(file).to_owned())),
        None => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inline_data_wins_over_the_file_and_may_have_line_breaks() {
        let loaded = load(Some("aGVs\nbG8="), Some("/does/not/exist")).unwrap();
        assert_eq!(loaded.as_deref(), Some(&b"hello"[..]));
    }

    #[test]
    fn an_unreadable_file_is_an_error_with_its_path() {
        let err = load(None, Some("/does/not/exist.crt")).unwrap_err();
        assert!(err.to_string().contains("/does/not/exist.crt"), "{err}");
    }

    #[test]
    fn a_certificate_without_a_key_is_an_error() {
        let user = AuthInfo { client_certificate_data: Some("aGVsbG8=".into()), ..AuthInfo::default() };
        assert!(matches!(
            user.load_client_identity(),
            Err(KubeconfigError::LoadClientKey(LoadDataError::NoBase64DataOrFile))
        ));
    }

    #[test]
    fn pem_without_a_certificate_is_an_error() {
        assert!(certificates_from_pem(b"not pem at all").is_err());
    }
}
