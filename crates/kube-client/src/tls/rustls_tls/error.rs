//! Why rustls cannot be set up.

use thiserror::Error;

use crate::chain::ErrorChain;

/// Certificates or keys that rustls cannot use.
#[derive(Debug, Error)]
pub enum RustlsTlsError {
    /// The client certificate or key is not PEM.
    #[error("the client certificate or key is not PEM: {}", ErrorChain(.0))]
    InvalidIdentityPem(#[source] rustls::pki_types::pem::Error),
    /// There is a client key without a certificate.
    #[error("there is no certificate in the client certificate's PEM")]
    MissingCertificate,
    /// There is a client certificate without a key.
    #[error("there is no private key in the client key's PEM: expected PKCS#8, PKCS#1 or SEC1")]
    MissingPrivateKey,
    /// The key is not in a supported format.
    #[error("the client key is in an unknown format: expected PKCS#8, PKCS#1 or SEC1")]
    UnknownPrivateKeyFormat,
    /// The key cannot be used, or does not belong to the certificate.
    #[error("the client key cannot be used with the client certificate: {}", ErrorChain(.0))]
    InvalidPrivateKey(#[source] rustls::Error),
    /// A CA certificate is not valid.
    #[error("a CA certificate cannot be used: {}", ErrorChain(.0.as_ref()))]
    AddRootCertificate(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The platform has no CA certificates.
    #[error("the platform has no CA certificates: set the cluster's own (`certificate-authority`): {}", ErrorChain(.0))]
    NoValidNativeRootCA(#[source] std::io::Error),
    /// The configured server name is not a valid name.
    #[error("`tls-server-name` is not a host name: {}", ErrorChain(.0))]
    InvalidServerName(#[source] rustls::pki_types::InvalidDnsNameError),
}
