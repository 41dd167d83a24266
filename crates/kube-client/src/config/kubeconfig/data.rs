//! Certificates and keys, each either in place (base64) or in a file.

use std::path::Path;

use base64::{Engine, engine::general_purpose::STANDARD};
use secrecy::{ExposeSecret, SecretString};

use super::{AuthInfo, Cluster, ExecAuthCluster};
use crate::config::{KubeconfigError, LoadDataError};

/// A client certificate with its key, both PEM.
#[derive(Debug)]
#[cfg_attr(not(feature = "client"), expect(dead_code, reason = "checked while loading, used by TLS"))]
pub(crate) struct ClientIdentityPem {
    /// The certificate and what stands between it and the authority.
    pub(crate) certificate: Vec<u8>,
    /// Its private key.
    pub(crate) key: SecretString,
}

#[cfg(feature = "client")]
impl ClientIdentityPem {
    /// Whether `other` is the same text.
    pub(crate) fn is(&self, other: &Self) -> bool {
        self.certificate == other.certificate && self.key.expose_secret() == other.key.expose_secret()
    }
}

impl Cluster {
    /// PEM text of the authorities to trust, if any are given.
    pub(in crate::config) fn load_certificate_authority(&self) -> Result<Option<Vec<u8>>, KubeconfigError> {
        load(self.certificate_authority_data.as_deref(), self.certificate_authority.as_deref())
            .map_err(KubeconfigError::LoadCertificateAuthority)
    }
}

impl AuthInfo {
    /// The client certificate and key, if either is given.
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

/// The cluster extension that is meant for credential programs.
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

/// In place wins over the file; an empty text counts as not given.
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
    fn data_wins_over_the_file_and_tolerates_line_breaks() {
        let loaded = load(Some("aGVs\nbG8="), Some("/does/not/exist")).unwrap();
        assert_eq!(loaded.as_deref(), Some(&b"hello"[..]));
    }

    #[test]
    fn an_unreadable_file_is_named() {
        let err = load(None, Some("/does/not/exist.crt")).unwrap_err();
        assert!(err.to_string().contains("/does/not/exist.crt"), "{err}");
    }

    #[test]
    fn a_certificate_needs_its_key() {
        let user = AuthInfo { client_certificate_data: Some("aGVsbG8=".into()), ..AuthInfo::default() };
        assert!(matches!(
            user.load_client_identity(),
            Err(KubeconfigError::LoadClientKey(LoadDataError::NoBase64DataOrFile))
        ));
    }

    #[test]
    fn text_without_a_certificate_is_refused() {
        assert!(certificates_from_pem(b"not pem at all").is_err());
    }
}
