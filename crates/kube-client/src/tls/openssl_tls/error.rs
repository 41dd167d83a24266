//! Why TLS could not be set up.

use openssl::error::ErrorStack;
use thiserror::Error;

use crate::chain::ErrorChain;

/// Certificates or keys that OpenSSL cannot use.
#[derive(Debug, Error)]
pub enum OpensslTlsError {
    /// The connector could not be made.
    #[error("the connector for TLS cannot be made: {}", ErrorChain(.0))]
    CreateHttpsConnector(#[source] ErrorStack),
    /// The settings could not be made.
    #[error("the settings for TLS cannot be made: {}", ErrorChain(.0))]
    CreateSslConnector(#[source] SslConnectorError),
}

/// Which of the settings OpenSSL does not take.
#[derive(Debug, Error)]
pub enum SslConnectorError {
    /// Not even the defaults.
    #[error("OpenSSL gives no settings to start from: {}", ErrorChain(.0))]
    CreateBuilder(#[source] ErrorStack),
    /// One of the authorities is not a certificate.
    #[error("a certificate authority cannot be used: {}", ErrorChain(.0.as_ref()))]
    AddRootCertificate(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The client certificate is not PEM.
    #[error("the client certificate is not PEM: {}", ErrorChain(.0))]
    ParseCertificate(#[source] ErrorStack),
    /// There is a client key, but no certificate.
    #[error("there is no certificate in the client certificate's PEM")]
    MissingCertificate,
    /// The key is not PEM of a kind that is known.
    #[error("the client key cannot be read: expected PEM of PKCS#8, PKCS#1 or SEC1, without a passphrase: {}", ErrorChain(.0))]
    ParseKey(#[source] ErrorStack),
    /// The key does not belong to the certificate.
    #[error("the client key does not belong to the client certificate")]
    KeyMismatch,
    /// The client certificate is not accepted.
    #[error("the client certificate cannot be used: {}", ErrorChain(.0))]
    UseIdentity(#[source] ErrorStack),
    /// The protocols to offer are not accepted.
    #[error("the versions of HTTP cannot be offered: {}", ErrorChain(.0))]
    OfferProtocols(#[source] ErrorStack),
}

impl From<SslConnectorError> for OpensslTlsError {
    fn from(err: SslConnectorError) -> Self {
        Self::CreateSslConnector(err)
    }
}
