//! Why OpenSSL cannot be set up.

use openssl::error::ErrorStack;
use thiserror::Error;

use crate::chain::ErrorChain;

/// Certificates or keys that OpenSSL cannot use.
#[derive(Debug, Error)]
pub enum OpensslTlsError {
    /// The connector could not be created.
    #[error("the TLS connector cannot be created: {}", ErrorChain(.0))]
    CreateHttpsConnector(#[source] ErrorStack),
    /// A setting was rejected.
    #[error("the TLS settings cannot be used: {}", ErrorChain(.0))]
    CreateSslConnector(#[source] SslConnectorError),
}

/// Which setting OpenSSL rejected.
#[derive(Debug, Error)]
pub enum SslConnectorError {
    /// OpenSSL could not be initialized.
    #[error("OpenSSL cannot be initialized: {}", ErrorChain(.0))]
    CreateBuilder(#[source] ErrorStack),
    /// A CA certificate is not valid.
    #[error("a CA certificate cannot be used: {}", ErrorChain(.0.as_ref()))]
    AddRootCertificate(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The client certificate is not PEM.
    #[error("the client certificate is not PEM: {}", ErrorChain(.0))]
    ParseCertificate(#[source] ErrorStack),
    /// There is a client key without a certificate.
    #[error("there is no certificate in the client certificate's PEM")]
    MissingCertificate,
    /// The key is not PEM in a supported format.
    #[error("the client key cannot be read: expected PEM of PKCS#8, PKCS#1 or SEC1, without a passphrase: {}", ErrorChain(.0))]
    ParseKey(#[source] ErrorStack),
    /// The key does not belong to the certificate.
    #[error("the client key does not belong to the client certificate")]
    KeyMismatch,
    /// OpenSSL rejected the client certificate.
    #[error("the client certificate cannot be used: {}", ErrorChain(.0))]
    UseIdentity(#[source] ErrorStack),
    /// OpenSSL rejected the ALPN protocols.
    #[error("the ALPN protocols cannot be set: {}", ErrorChain(.0))]
    OfferProtocols(#[source] ErrorStack),
}

impl From<SslConnectorError> for OpensslTlsError {
    fn from(err: SslConnectorError) -> Self {
        Self::CreateSslConnector(err)
    }
}
