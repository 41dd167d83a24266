//! The client certificate: given once, in files that may change, or renewed by a credential program.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rustls::SignatureScheme;
use rustls::client::ResolvesClientCert;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use secrecy::ExposeSecret;

use super::RustlsTlsError;
use super::stamp::{Stamp, stamp_of};
use crate::auth::Renewing;
use crate::config::{AuthInfo, ClientIdentityPem, KubeconfigError};

/// Shows the current client certificate at each handshake. Connections that are open keep the one they were made with.
#[derive(Debug)]
pub(super) struct CurrentIdentity {
    source: Source,
    provider: Arc<CryptoProvider>,
    current: Mutex<Current>,
}

#[derive(Debug)]
enum Source {
    /// It stays as it is.
    Fixed,
    /// Certificate and key lie in files.
    Files { user: Box<AuthInfo>, paths: Vec<PathBuf> },
    /// It comes with the credentials.
    Renewing(Arc<Renewing>),
}

#[derive(Debug, Default)]
struct Current {
    key: Option<Arc<CertifiedKey>>,
    stamps: Vec<Option<Stamp>>,
    pem: Option<Arc<ClientIdentityPem>>,
}

impl CurrentIdentity {
    /// The identity of a user who has one: `identity` as loaded at the start, followed where it lies in files.
    pub(super) fn of_user(
        user: &AuthInfo,
        identity: &ClientIdentityPem,
        provider: Arc<CryptoProvider>,
    ) -> Result<Self, RustlsTlsError> {
        let paths = identity_files(user);
        let stamps = stamps_of(&paths);
        let key = certified_key(identity, &provider)?;
        let source = match paths.is_empty() {
            true => Source::Fixed,
            false => Source::Files { user: Box::new(user.clone()), paths },
        };
        let current = Current { key: Some(Arc::new(key)), stamps, pem: None };
        Ok(Self { source, provider, current: Mutex::new(current) })
    }

    /// The identity that may come with renewed credentials.
    pub(super) fn renewing(renewing: Arc<Renewing>, provider: Arc<CryptoProvider>) -> Self {
        Self { source: Source::Renewing(renewing), provider, current: Mutex::default() }
    }

    fn key(&self) -> Option<Arc<CertifiedKey>> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        match &self.source {
            Source::Fixed => {}
            Source::Files { user, paths } => {
                let stamps = stamps_of(paths);
                if stamps != current.stamps && stamps.iter().all(Option::is_some) {
                    self.reload(&mut current, stamps, user);
                }
            }
            Source::Renewing(renewing) => {
                let pem = renewing.identity();
                if pem.as_ref().map(Arc::as_ptr) != current.pem.as_ref().map(Arc::as_ptr) {
                    let key = pem.as_ref().map(|pem| certified_key(pem, &self.provider)).transpose();
                    match key {
                        Ok(key) => current.key = key.map(Arc::new),
                        Err(err) => warn(&err),
                    }
                    current.pem = pem;
                }
            }
        }
        current.key.clone()
    }

    /// Certificate and key are replaced one after the other: what does not fit together is tried again the next time.
    fn reload(&self, current: &mut Current, stamps: Vec<Option<Stamp>>, user: &AuthInfo) {
        let loaded = match user.load_client_identity() {
            Ok(Some(identity)) => certified_key(&identity, &self.provider),
            Ok(None) => return,
            Err(err) => return warn::<KubeconfigError>(&err),
        };
        match loaded {
            Ok(key) => {
                tracing::debug!("the client certificate has changed");
                current.key = Some(Arc::new(key));
                current.stamps = stamps;
            }
            Err(err) => warn(&err),
        }
    }
}

impl ResolvesClientCert for CurrentIdentity {
    fn resolve(&self, _: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        self.key()
    }

    fn has_certs(&self) -> bool {
        true
    }
}

fn warn<E: std::error::Error>(err: &E) {
    tracing::warn!(error = %err, "the changed client certificate cannot be used, showing the old one on");
}

/// The files that a user's identity lies in; text in place wins over a file.
fn identity_files(user: &AuthInfo) -> Vec<PathBuf> {
    let file = |has_data: bool, path: &Option<String>| {
        path.as_deref().filter(|path| !has_data && !path.is_empty()).map(|path| Path::new(path).to_owned())
    };
    let certificate_in_place = user.client_certificate_data.as_deref().is_some_and(|data| !data.is_empty());
    let key_in_place = user.client_key_data.as_ref().is_some_and(|data| !data.expose_secret().is_empty());
    [file(certificate_in_place, &user.client_certificate), file(key_in_place, &user.client_key)]
        .into_iter()
        .flatten()
        .collect()
}

fn stamps_of(paths: &[PathBuf]) -> Vec<Option<Stamp>> {
    paths.iter().map(|path| stamp_of(path)).collect()
}

/// Reads both from PEM text, and checks that they belong together. Other sections between them do not matter.
fn certified_key(
    identity: &ClientIdentityPem,
    provider: &CryptoProvider,
) -> Result<CertifiedKey, RustlsTlsError> {
    let chain = CertificateDer::pem_slice_iter(&identity.certificate)
        .collect::<Result<Vec<_>, _>>()
        .map_err(RustlsTlsError::InvalidIdentityPem)?;
    if chain.is_empty() {
        return Err(RustlsTlsError::MissingCertificate);
    }
    let key = PrivateKeyDer::from_pem_slice(identity.key.expose_secret().as_bytes());
    let key = key.map_err(|err| match err {
        pem::Error::NoItemsFound => RustlsTlsError::MissingPrivateKey,
        err => RustlsTlsError::InvalidIdentityPem(err),
    })?;
    CertifiedKey::from_der(chain, key, provider).map_err(RustlsTlsError::InvalidPrivateKey)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tls::provider::crypto_provider;

    fn made() -> (String, String) {
        let made = rcgen::generate_simple_self_signed(vec!["me".into()]).unwrap();
        (made.cert.pem(), made.signing_key.serialize_pem())
    }

    fn parse(certificate: &str, key: &str) -> Result<CertifiedKey, RustlsTlsError> {
        let pem =
            ClientIdentityPem { certificate: certificate.as_bytes().to_vec(), key: key.to_owned().into() };
        certified_key(&pem, &crypto_provider())
    }

    #[test]
    fn each_mistake_has_its_error() {
        let ((certificate, key), (_, other_key)) = (made(), made());
        assert_eq!(parse(&certificate, &key).unwrap().cert.len(), 1);
        assert!(matches!(parse("", &key), Err(RustlsTlsError::MissingCertificate)));
        assert!(matches!(parse(&certificate, ""), Err(RustlsTlsError::MissingPrivateKey)));
        assert!(matches!(parse(&certificate, &certificate), Err(RustlsTlsError::MissingPrivateKey)));
        assert!(matches!(parse(&certificate, &other_key), Err(RustlsTlsError::InvalidPrivateKey(_))));
        let cut = &certificate[..certificate.len() / 2];
        assert!(matches!(parse(cut, &key), Err(RustlsTlsError::InvalidIdentityPem(_))));
    }

    #[test]
    fn changed_files_are_shown_once_they_fit_together() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        let ((old, old_key), (new, new_key)) = (made(), made());
        std::fs::write(path("crt"), &old).unwrap();
        std::fs::write(path("key"), &old_key).unwrap();
        let user = AuthInfo {
            client_certificate: Some(path("crt")),
            client_key: Some(path("key")),
            ..AuthInfo::default()
        };
        let loaded = user.load_client_identity().unwrap().unwrap();
        let identity = CurrentIdentity::of_user(&user, &loaded, crypto_provider()).unwrap();
        let shown = || identity.resolve(&[], &[]).unwrap().cert[0].clone();
        let first = shown();
        // Another length makes a change visible whatever the file system's clock.
        std::fs::write(path("crt"), format!("{new}\n")).unwrap();
        assert_eq!(shown(), first);
        std::fs::write(path("key"), format!("{new_key}\n")).unwrap();
        assert_ne!(shown(), first);
    }
}
