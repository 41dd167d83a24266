//! Verifies servers against the configured CA certificates.

use std::error::Error as StdError;
use std::sync::Arc;

use rustls::client::danger::{ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, Error, RootCertStore};

/// The arguments of [`ServerCertVerifier::verify_server_cert`]: what a server presents in a handshake.
pub(super) struct Presented<'a> {
    pub(super) end_entity: &'a CertificateDer<'a>,
    pub(super) intermediates: &'a [CertificateDer<'a>],
    pub(super) server_name: &'a ServerName<'a>,
    pub(super) ocsp_response: &'a [u8],
    pub(super) now: UnixTime,
}

impl Presented<'_> {
    pub(super) fn verify_with(&self, verifier: &dyn ServerCertVerifier) -> Result<ServerCertVerified, Error> {
        let Self { end_entity, intermediates, server_name, ocsp_response, now } = self;
        verifier.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, *now)
    }
}

/// The certificates that the configuration trusts.
#[derive(Debug)]
pub(super) struct ConfiguredCas {
    certificates: Vec<CertificateDer<'static>>,
    webpki: Arc<WebPkiServerVerifier>,
}

impl ConfiguredCas {
    pub(super) fn new(
        certificates: &[Vec<u8>],
        provider: &Arc<CryptoProvider>,
    ) -> Result<Self, Box<dyn StdError + Send + Sync>> {
        let certificates: Vec<_> = certificates.iter().cloned().map(CertificateDer::from).collect();
        let (mut roots, mut first_error) = (RootCertStore::empty(), None);
        for certificate in &certificates {
            // One that cannot be used must not make the others useless.
            if let Err(err) = roots.add(certificate.clone()) {
                tracing::warn!(%err, "a CA certificate is not valid and is ignored");
                first_error.get_or_insert(err);
            }
        }
        if let Some(err) = first_error.filter(|_| roots.is_empty()) {
            return Err(err.into());
        }
        let webpki =
            WebPkiServerVerifier::builder_with_provider(roots.into(), Arc::clone(provider)).build()?;
        Ok(Self { certificates, webpki })
    }

    /// A server that presents one of the configured certificates itself is trusted as well, whether it is self-signed (such as those of
    /// `openssl req -x509`) or signed by another CA. kubectl trusts both; rustls trusts neither.
    pub(super) fn verify(&self, presented: &Presented<'_>) -> Result<ServerCertVerified, Error> {
        match presented.verify_with(&*self.webpki) {
            // webpki checks the validity period before it reports these. Other faults of the certificate, such as its purpose,
            // stay errors.
            Err(Error::InvalidCertificate(
                CertificateError::Other(_) | CertificateError::UnknownIssuer | CertificateError::BadSignature,
            )) if self.certificates.contains(presented.end_entity) => {
                verify_server_name(
                    &ParsedCertificate::try_from(presented.end_entity)?,
                    presented.server_name,
                )?;
                Ok(ServerCertVerified::assertion())
            }
            result => result,
        }
    }
}
