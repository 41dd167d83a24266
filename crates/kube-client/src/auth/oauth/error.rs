//! Why Google's default credentials returned no token.

use tame_oauth::Error;
use thiserror::Error as ThisError;

use crate::chain::ErrorChain;

/// Why Google's default credentials returned no token.
#[derive(Debug, ThisError)]
pub enum OAuthError {
    /// There are no default credentials.
    #[error(
        "there are no default credentials: set GOOGLE_APPLICATION_CREDENTIALS, or run `gcloud auth application-default login`"
    )]
    NoDefaultProvider,
    /// The default credentials cannot be used.
    #[error("the default credentials cannot be used: {}", ErrorChain(.0))]
    InvalidDefaultProviderConfig(#[source] Error),
    /// The service account's key is in an unknown format.
    #[error("the service account's key is in an unknown format: expected PKCS#8 PEM: {}", ErrorChain(.0))]
    InvalidKeyFormat(#[source] Error),
    /// The service account's key is not an RSA key.
    #[error("the service account's key is not an RSA key: {}", ErrorChain(.0))]
    InvalidRsaKey(#[source] Error),
    /// The credentials' file could not be read.
    #[error("the credentials cannot be read: {}", ErrorChain(.0))]
    LoadCredentials(#[source] std::io::Error),
    /// The credentials' file is not JSON.
    #[error("the credentials are not JSON: {}", ErrorChain(.0))]
    ParseCredentials(#[source] serde_json::Error),
    /// The request for a token could not be built.
    #[error("the request for a token cannot be built: {}", ErrorChain(.0))]
    BuildRequest(#[source] http::Error),
    /// There is no response.
    #[error("the token endpoint cannot be reached: {}", ErrorChain(.0))]
    RequestToken(#[source] hyper_util::client::legacy::Error),
    /// The response is incomplete.
    #[error("the token endpoint's response is incomplete: {}", ErrorChain(.0))]
    ConcatBuffers(#[source] hyper::Error),
    /// The token endpoint refused the request.
    #[error("the token endpoint returned no token: {}", ErrorChain(.0))]
    RetrieveCredentials(#[source] Error),
    /// The response cannot be decoded.
    #[error("the token endpoint's response is not JSON with a token: {}", ErrorChain(.0))]
    ParseToken(#[source] serde_json::Error),
    /// The platform has no CA certificates.
    #[error("the platform has no CA certificates: {}", ErrorChain(.0))]
    NoValidNativeRootCA(#[source] std::io::Error),
    /// The OpenSSL connector could not be created.
    #[cfg(feature = "openssl-tls")]
    #[error("the TLS connector cannot be created: {}", ErrorChain(.0))]
    CreateOpensslHttpsConnector(#[source] openssl::error::ErrorStack),
    /// Other errors.
    #[error("{0}")]
    Unknown(String),
}
