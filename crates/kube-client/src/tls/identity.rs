//! The client certificate.

use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use secrecy::ExposeSecret;

use super::RustlsTlsError;
use crate::config::ClientIdentityPem;

/// A certificate chain and its key, as rustls takes them.
pub(super) type Identity = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

/// Reads both from PEM text. Other sections between them do not matter.
pub(super) fn parse_identity(identity: &ClientIdentityPem) -> Result<Identity, RustlsTlsError> {
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
    Ok((chain, key))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(certificate: &str, key: &str) -> Result<Identity, RustlsTlsError> {
        parse_identity(&ClientIdentityPem {
            certificate: certificate.as_bytes().to_vec(),
            key: key.to_owned().into(),
        })
    }

    #[test]
    fn each_mistake_has_its_error() {
        let made = rcgen::generate_simple_self_signed(vec!["me".into()]).unwrap();
        let (certificate, key) = (made.cert.pem(), made.signing_key.serialize_pem());
        assert_eq!(parse(&certificate, &key).unwrap().0.len(), 1);
        assert!(matches!(parse("", &key), Err(RustlsTlsError::MissingCertificate)));
        assert!(matches!(parse(&certificate, ""), Err(RustlsTlsError::MissingPrivateKey)));
        assert!(matches!(parse(&certificate, &certificate), Err(RustlsTlsError::MissingPrivateKey)));
        let cut = &certificate[..certificate.len() / 2];
        assert!(matches!(parse(cut, &key), Err(RustlsTlsError::InvalidIdentityPem(_))));
    }
}
