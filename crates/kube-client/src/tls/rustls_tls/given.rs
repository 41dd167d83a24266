//! Whom given certificates vouch for: what they have signed, and themselves.

use std::error::Error as StdError;
use std::sync::Arc;

use rustls::client::danger::{ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, Error, RootCertStore};

/// What a server shows in a handshake.
pub(super) struct Shown<'a> {
    pub(super) end_entity: &'a CertificateDer<'a>,
    pub(super) intermediates: &'a [CertificateDer<'a>],
    pub(super) server_name: &'a ServerName<'a>,
    pub(super) ocsp_response: &'a [u8],
    pub(super) now: UnixTime,
}

impl Shown<'_> {
    pub(super) fn judged_by(&self, verifier: &dyn ServerCertVerifier) -> Result<ServerCertVerified, Error> {
        let Self { end_entity, intermediates, server_name, ocsp_response, now } = self;
        verifier.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, *now)
    }
}

/// Certificates that a user trusts.
#[derive(Debug)]
pub(super) struct Given {
    certificates: Vec<CertificateDer<'static>>,
    chain: Arc<WebPkiServerVerifier>,
}

impl Given {
    pub(super) fn new(
        certificates: &[Vec<u8>],
        provider: &Arc<CryptoProvider>,
    ) -> Result<Self, Box<dyn StdError + Send + Sync>> {
        let certificates: Vec<_> = certificates.iter().cloned().map(CertificateDer::from).collect();
        let mut roots = RootCertStore::empty();
        for certificate in &certificates {
            roots.add(certificate.clone())?;
        }
        let chain =
            WebPkiServerVerifier::builder_with_provider(roots.into(), Arc::clone(provider)).build()?;
        Ok(Self { certificates, chain })
    }

    /// A server that shows one of the certificates themselves is trusted, whether that is an authority's, as those are that
    /// `openssl req -x509` makes, or one that some other authority has signed. kubectl does so too, but rustls wants authorities to
    /// sign for others, and only authorities to be trusted.
    pub(super) fn judge(&self, shown: &Shown<'_>) -> Result<ServerCertVerified, Error> {
        match shown.judged_by(&*self.chain) {
            // These are found after the certificate's own dates were checked. What else may be wrong with it, as its purpose, stays
            // an error.
            Err(Error::InvalidCertificate(
                CertificateError::Other(_) | CertificateError::UnknownIssuer | CertificateError::BadSignature,
            )) if self.certificates.contains(shown.end_entity) => {
                verify_server_name(&ParsedCertificate::try_from(shown.end_entity)?, shown.server_name)?;
                Ok(ServerCertVerified::assertion())
            }
            judged => judged,
        }
    }
}
