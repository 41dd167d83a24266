//! Why TLS could not be set up.

use thiserror::Error;

use crate::chain::ErrorChain;

/// Certificates or keys that rustls cannot use.
#[derive(Debug, Error)]
pub enum RustlsTlsError {
    /// The client certificate or key is not PEM.
    #[error("the client certificate or key is not PEM: {}", ErrorChain(.0))]
    InvalidIdentityPem(#[source] rustls::pki_types::pem::Error),
    /// There is a client key, but no certificate.
    #[error("there is no certificate in the client certificate's PEM")]
    MissingCertificate,
    /// There is a client certificate, but no key.
    #[error("there is no private key in the client key's PEM: expected PKCS#8, PKCS#1 or SEC1")]
    MissingPrivateKey,
    /// The key is of a kind that is not known.
    #[error("the client key is of no known kind: expected PKCS#8, PKCS#1 or SEC1")]
    UnknownPrivateKeyFormat,
    /// The key cannot be used, or does not belong to the certificate.
    #[error("the client key cannot be used with the client certificate: {}", ErrorChain(.0))]
    InvalidPrivateKey(#[source] rustls::Error),
    /// One of the authorities is not a certificate.
    #[error("a certificate authority cannot be used: {}", ErrorChain(.0.as_ref()))]
    AddRootCertificate(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The platform has no authorities.
    #[error("the platform has no certificate authorities: name the cluster's own (`certificate-authority`): {}", ErrorChain(.0))]
    NoValidNativeRootCA(#[source] std::io::Error),
    /// The name to expect in the server's certificate is not a name.
    #[error("`tls-server-name` is not a host name: {}", ErrorChain(.0))]
    InvalidServerName(#[source] rustls::pki_types::InvalidDnsNameError),
}
