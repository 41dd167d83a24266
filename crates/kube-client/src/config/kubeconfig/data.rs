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
                if is_encrypted(&key) {
                    let err = std::io::Error::new(std::io::ErrorKind::InvalidData, KEY_IS_ENCRYPTED);
                    let is_file = key_data.is_none_or(str::is_empty);
                    let from = self.client_key.as_deref().filter(|_| is_file).unwrap_or("client-key-data");
                    return Err(KubeconfigError::LoadClientKey(LoadDataError::ReadFile(err, from.into())));
                }
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

/// The DER form of every certificate in PEM text. A block that cannot be parsed is skipped with a warning, as by kubectl: one of them must
/// not make the others useless.
pub(crate) fn certificates_from_pem(text: &[u8]) -> Result<Vec<Vec<u8>>, pem::PemError> {
    let (mut certificates, mut first_error) = (Vec::new(), None);
    for block in pem_blocks(text) {
        match pem::parse(block) {
            Ok(section) if section.tag() == "CERTIFICATE" => certificates.push(section.into_contents()),
            Ok(_) => {}
            Err(err) => {
                tracing::warn!(%err, "a block of a list of CA certificates is not PEM and is ignored");
                first_error.get_or_insert(err);
            }
        }
    }
    match certificates.is_empty() {
        true => Err(first_error.unwrap_or(pem::PemError::MalformedFraming)),
        false => Ok(certificates),
    }
}

/// The parts of `text` that begin with a PEM header.
fn pem_blocks(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    const HEADER: &[u8] = b"-----BEGIN ";
    let starts: Vec<_> = (0..text.len()).filter(|&at| text[at..].starts_with(HEADER)).collect();
    let ends: Vec<_> = starts.iter().skip(1).copied().chain([text.len()]).collect();
    starts.into_iter().zip(ends).map(|(start, end)| &text[start..end])
}

/// Whether a PEM key needs a passphrase, which nobody can enter.
pub(crate) fn is_encrypted(key: &str) -> bool {
    key.contains("-----BEGIN ENCRYPTED PRIVATE KEY-----") || key.contains("Proc-Type: 4,ENCRYPTED")
}

/// What to do about it.
pub(crate) const KEY_IS_ENCRYPTED: &str = "the key is encrypted with a passphrase: expected one without";

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
        for text in ["", "not pem at all", "-----BEGIN CERTIFICATE-----\n%\n-----END CERTIFICATE-----"] {
            assert!(certificates_from_pem(text.as_bytes()).is_err(), "{text}");
        }
    }

    #[test]
    fn a_block_that_is_not_pem_does_not_make_the_others_useless() {
        let made = || rcgen::generate_simple_self_signed(vec!["host".into()]).unwrap();
        let (one, two) = (made(), made());
        let (first, second) = (one.cert.pem(), two.cert.pem());
        let key = one.signing_key.serialize_pem();
        for broken in [
            "-----BEGIN CERTIFICATE-----\n%%%\n-----END CERTIFICATE-----\n",
            "-----BEGIN CERTIFICATE-----\nYQ==\n-----END KEY-----\n",
            "-----BEGIN CERTIFICATE-----\nYWFh\n",
            "-----BEGIN CERTIFICATE\n",
            &key,
            "# text \u{e9}\n",
        ] {
            let bundle = [&first, broken, &second].map(str::to_owned).concat();
            let expected = [one.cert.der().to_vec(), two.cert.der().to_vec()];
            assert_eq!(certificates_from_pem(bundle.as_bytes()).unwrap(), expected, "{broken}");
        }
    }

    #[test]
    fn an_encrypted_key_is_an_error_that_says_so() {
        for (key, from) in [
            (
                "-----BEGIN ENCRYPTED PRIVATE KEY-----\nYQ==\n-----END ENCRYPTED PRIVATE KEY-----\n",
                "client-key-data",
            ),
            (
                "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nYQ==\n-----END RSA PRIVATE KEY-----\n",
                "/the.key",
            ),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let file = folder.path().join("the.key");
            std::fs::write(&file, key).unwrap();
            let mut user = AuthInfo { client_certificate_data: Some("YQ==".into()), ..AuthInfo::default() };
            match from {
                "client-key-data" => user.client_key_data = Some(STANDARD.encode(key).into()),
                _ => user.client_key = Some(file.to_str().unwrap().to_owned()),
            }
            let text = user.load_client_identity().unwrap_err().to_string();
            assert!(text.contains(from) && text.contains("encrypted with a passphrase"), "{text}");
        }
    }
}
