//! Whom to trust: given authorities, a file of them that may change, the platform's, or anyone.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature,
};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, RootCertStore, SignatureScheme};

use super::RustlsTlsError;
use super::stamp::{Stamp, stamp_of};
use crate::config::{Config, certificates_from_pem};

/// The verifier that `config` asks for.
pub(super) fn server_verifier(
    config: &Config,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>, RustlsTlsError> {
    if config.accept_invalid_certs {
        return Ok(Arc::new(AcceptAny(provider.signature_verification_algorithms)));
    }
    if let Some(path) = &config.root_cert_file {
        return Ok(Arc::new(FollowedFile::new(path.clone(), config.root_cert.as_deref(), provider)?));
    }
    match &config.root_cert {
        Some(certificates) => trust_only(certificates, provider),
        None => {
            let platform = rustls_platform_verifier::Verifier::new(Arc::clone(provider))
                .map_err(|err| RustlsTlsError::NoValidNativeRootCA(std::io::Error::other(err)))?;
            Ok(Arc::new(platform))
        }
    }
}

fn trust_only(
    certificates: &[Vec<u8>],
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>, RustlsTlsError> {
    let mut roots = RootCertStore::empty();
    for der in certificates {
        roots
            .add(CertificateDer::from(der.clone()))
            .map_err(|err| RustlsTlsError::AddRootCertificate(err.into()))?;
    }
    let verifier = WebPkiServerVerifier::builder_with_provider(roots.into(), Arc::clone(provider)).build();
    verifier.map(|verifier| verifier as _).map_err(|err| RustlsTlsError::AddRootCertificate(err.into()))
}

/// Trusts the authorities in a file, and looks at each handshake whether it has changed.
///
/// Clusters replace the authorities of their pods now and then; connections are rare, so the look costs nothing that counts.
#[derive(Debug)]
struct FollowedFile {
    path: PathBuf,
    provider: Arc<CryptoProvider>,
    current: RwLock<(Option<Stamp>, Arc<dyn ServerCertVerifier>)>,
}

impl FollowedFile {
    /// The file has to be good at the start, unless the configuration has already read it.
    fn new(
        path: PathBuf,
        already_read: Option<&[Vec<u8>]>,
        provider: &Arc<CryptoProvider>,
    ) -> Result<Self, RustlsTlsError> {
        let current = match (load(&path, provider), already_read) {
            (Ok(loaded), _) => loaded,
            (Err(_), Some(certificates)) => (None, trust_only(certificates, provider)?),
            (Err(err), None) => return Err(err),
        };
        Ok(Self { path, provider: Arc::clone(provider), current: RwLock::new(current) })
    }

    fn verifier(&self) -> Arc<dyn ServerCertVerifier> {
        let (stamp, verifier) = {
            let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
            (current.0, Arc::clone(&current.1))
        };
        let now = stamp_of(&self.path);
        if now.is_none() || now == stamp {
            return verifier;
        }
        match load(&self.path, &self.provider) {
            Ok(loaded) => {
                tracing::debug!(path = %self.path.display(), "certificate authorities have changed");
                let verifier = Arc::clone(&loaded.1);
                *self.current.write().unwrap_or_else(PoisonError::into_inner) = loaded;
                verifier
            }
            Err(err) => {
                tracing::warn!(path = %self.path.display(), error = %err, "changed certificate authorities cannot be used");
                verifier
            }
        }
    }
}

fn load(
    path: &Path,
    provider: &Arc<CryptoProvider>,
) -> Result<(Option<Stamp>, Arc<dyn ServerCertVerifier>), RustlsTlsError> {
    // The stamp first: a change between the two is then seen the next time.
    let stamp = stamp_of(path);
    let named = |err: &dyn std::fmt::Display| {
        RustlsTlsError::AddRootCertificate(format!("{}: {err}", path.display()).into())
    };
    let pem = std::fs::read(path).map_err(|err| named(&err))?;
    let certificates = certificates_from_pem(&pem).map_err(|err| named(&err))?;
    Ok((stamp, trust_only(&certificates, provider)?))
}

impl ServerCertVerifier for FollowedFile {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        self.verifier().verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// Trusts anyone, as `insecure-skip-tls-verify` says; that the server holds the key of what it shows is still checked.
#[derive(Debug)]
struct AcceptAny(WebPkiSupportedAlgorithms);

impl ServerCertVerifier for AcceptAny {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, dss, &self.0)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, dss, &self.0)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tls::provider::crypto_provider;

    struct Authority {
        certificate: rcgen::Certificate,
        issuer: rcgen::Issuer<'static, rcgen::KeyPair>,
    }

    fn authority() -> Authority {
        let mut params = rcgen::CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        let key = rcgen::KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        Authority { certificate, issuer: rcgen::Issuer::new(params, key) }
    }

    fn server_certificate(of: &Authority) -> CertificateDer<'static> {
        let key = rcgen::KeyPair::generate().unwrap();
        let params = rcgen::CertificateParams::new(vec!["host".to_owned()]).unwrap();
        params.signed_by(&key, &of.issuer).unwrap().der().clone()
    }

    fn trusts(verifier: &dyn ServerCertVerifier, certificate: &CertificateDer<'_>) -> bool {
        let name = ServerName::try_from("host").unwrap();
        verifier.verify_server_cert(certificate, &[], &name, &[], UnixTime::now()).is_ok()
    }

    #[test]
    fn a_changed_file_changes_whom_we_trust() {
        let (old, new) = (authority(), authority());
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), old.certificate.pem()).unwrap();
        let mut config = Config::new("https://host".parse().unwrap());
        config.root_cert_file = Some(file.path().to_owned());
        let verifier = server_verifier(&config, &crypto_provider()).unwrap();
        let (signed_by_old, signed_by_new) = (server_certificate(&old), server_certificate(&new));
        assert!(trusts(&*verifier, &signed_by_old) && !trusts(&*verifier, &signed_by_new));

        std::fs::write(file.path(), "half a file\n").unwrap();
        assert!(trusts(&*verifier, &signed_by_old));
        std::fs::write(file.path(), [old.certificate.pem(), new.certificate.pem()].concat()).unwrap();
        assert!(trusts(&*verifier, &signed_by_old) && trusts(&*verifier, &signed_by_new));
    }

    #[test]
    fn given_authorities_are_the_only_ones() {
        let (ours, other) = (authority(), authority());
        let mut config = Config::new("https://host".parse().unwrap());
        config.root_cert = Some(vec![ours.certificate.der().to_vec()]);
        let verifier = server_verifier(&config, &crypto_provider()).unwrap();
        assert!(trusts(&*verifier, &server_certificate(&ours)));
        assert!(!trusts(&*verifier, &server_certificate(&other)));
        config.accept_invalid_certs = true;
        let verifier = server_verifier(&config, &crypto_provider()).unwrap();
        assert!(trusts(&*verifier, &server_certificate(&other)));
    }

    #[test]
    fn what_is_no_certificate_is_an_error() {
        let mut config = Config::new("https://host".parse().unwrap());
        config.root_cert = Some(vec![b"garbage".to_vec()]);
        let result = server_verifier(&config, &crypto_provider());
        assert!(matches!(result, Err(RustlsTlsError::AddRootCertificate(_))));
        config.root_cert = None;
        config.root_cert_file = Some("/no/such/ca.crt".into());
        let Err(RustlsTlsError::AddRootCertificate(cause)) = server_verifier(&config, &crypto_provider())
        else {
            panic!("expected an error");
        };
        assert!(cause.to_string().contains("/no/such/ca.crt"), "{cause}");
    }
}
