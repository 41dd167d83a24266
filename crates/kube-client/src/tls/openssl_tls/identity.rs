//! The client certificate as OpenSSL types.

use openssl::error::ErrorStack;
use openssl::pkey::{PKey, Private};
use openssl::ssl::{SslConnectorBuilder, SslRef};
use openssl::x509::X509;
use secrecy::ExposeSecret;

use super::SslConnectorError;
use crate::config::ClientIdentityPem;

/// A client certificate with its intermediate certificates and its key.
pub(super) struct OpensslIdentity {
    certificate: X509,
    intermediates: Vec<X509>,
    key: PKey<Private>,
}

impl OpensslIdentity {
    /// Parses both, and checks that the key matches the certificate.
    pub(super) fn parse(pem: &ClientIdentityPem) -> Result<Self, SslConnectorError> {
        let mut chain =
            X509::stack_from_pem(&pem.certificate).map_err(SslConnectorError::ParseCertificate)?.into_iter();
        let certificate = chain.next().ok_or(SslConnectorError::MissingCertificate)?;
        // Without the empty passphrase, OpenSSL would prompt for one on the terminal.
        let key = PKey::private_key_from_pem_passphrase(pem.key.expose_secret().as_bytes(), b"")
            .map_err(SslConnectorError::ParseKey)?;
        let public = certificate.public_key().map_err(SslConnectorError::ParseCertificate)?;
        if !public.public_eq(&key) {
            return Err(SslConnectorError::KeyMismatch);
        }
        Ok(Self { certificate, intermediates: chain.collect(), key })
    }

    /// Sets the certificate for all connections with these settings.
    pub(super) fn set_on_builder(&self, settings: &mut SslConnectorBuilder) -> Result<(), ErrorStack> {
        settings.set_certificate(&self.certificate)?;
        for certificate in &self.intermediates {
            settings.add_extra_chain_cert(certificate.clone())?;
        }
        settings.set_private_key(&self.key)
    }

    /// Sets the certificate for one connection.
    pub(super) fn set_on_connection(&self, connection: &mut SslRef) -> Result<(), ErrorStack> {
        connection.set_certificate(&self.certificate)?;
        for certificate in &self.intermediates {
            connection.add_chain_cert(certificate.clone())?;
        }
        connection.set_private_key(&self.key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(certificate: &str, key: &str) -> Result<OpensslIdentity, SslConnectorError> {
        let certificate = certificate.as_bytes().to_vec();
        OpensslIdentity::parse(&ClientIdentityPem { certificate, key: key.to_owned().into() })
    }

    #[test]
    fn each_invalid_identity_has_its_own_error() {
        let made = || {
            let made = rcgen::generate_simple_self_signed(vec!["me".into()]).unwrap();
            (made.cert.pem(), made.signing_key.serialize_pem())
        };
        let ((certificate, key), (_, other_key)) = (made(), made());
        assert!(parse(&certificate, &key).is_ok());
        assert!(matches!(parse("", &key), Err(SslConnectorError::MissingCertificate)));
        assert!(matches!(parse(&certificate, ""), Err(SslConnectorError::ParseKey(_))));
        assert!(matches!(parse(&certificate, &other_key), Err(SslConnectorError::KeyMismatch)));
    }
}
