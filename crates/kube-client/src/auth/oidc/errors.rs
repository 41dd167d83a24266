use thiserror::Error as ThisError;

use crate::chain::ErrorChain;

/// The provider `oidc` gave no token.
#[derive(Debug, ThisError)]
pub enum Error {
    /// There is no ID token, and no refresh token to get one with.
    #[error("the auth provider has no `id-token`, and nothing to get one with (`refresh-token`)")]
    IdTokenMissing,
    /// The ID token cannot be used.
    #[error("the `id-token` cannot be used: {}", ErrorChain(.0))]
    IdToken(#[from] IdTokenError),
    /// The ID token has expired, and there is nothing to get another one with.
    #[error("the `id-token` has expired and cannot be renewed: {}", ErrorChain(.0))]
    RefreshInit(#[from] RefreshInitError),
    /// The ID token could not be renewed.
    #[error("the `id-token` cannot be renewed: {}", ErrorChain(.0))]
    Refresh(#[from] RefreshError),
}

/// The ID token is not a JSON Web Token (RFC 7519) with an expiry.
#[derive(Debug, ThisError)]
pub enum IdTokenError {
    /// It does not have three parts.
    #[error("it is not of the form header.payload.signature")]
    InvalidFormat,
    /// Its payload is not base64url.
    #[error("its payload is not base64url: {}", ErrorChain(.0))]
    InvalidBase64(#[from] base64::DecodeError),
    /// Its payload is not JSON with an `exp`.
    #[error("its payload is not JSON with a number `exp`: {}", ErrorChain(.0))]
    InvalidJson(#[from] serde_json::Error),
    /// Its `exp` is no time.
    #[error("its `exp` is no time: {}", ErrorChain(.0))]
    InvalidExpirationTimestamp(#[from] jiff::Error),
}

/// The provider's settings do not allow to renew tokens.
#[derive(Clone, Debug, ThisError)]
pub enum RefreshInitError {
    /// A setting is missing.
    #[error("the auth provider has no `{0}`")]
    MissingField(&'static str),
    /// OpenSSL made no connector.
    #[cfg(feature = "openssl-tls")]
    #[error("the connector for TLS cannot be made: {}", ErrorChain(.0))]
    CreateOpensslHttpsConnector(#[from] openssl::error::ErrorStack),
    /// There are no authorities to trust.
    #[error("there are no authorities to trust: `idp-certificate-authority` or its `-data` cannot be read")]
    NoValidNativeRootCA,
}

/// The issuer gave no new token.
#[derive(Debug, ThisError)]
pub enum RefreshError {
    /// The issuer's URL, or one that it gave, is none.
    #[error("the issuer's URL (`idp-issuer-url`, or its `token_endpoint`) is none: {}", ErrorChain(.0))]
    InvalidURI(#[from] http::uri::InvalidUri),
    /// The answer broke off.
    #[error("the issuer's answer broke off: {}", ErrorChain(.0))]
    HyperError(#[from] hyper::Error),
    /// No answer came.
    #[error("the issuer cannot be reached: {}", ErrorChain(.0))]
    HyperUtilError(#[from] hyper_util::client::legacy::Error),
    /// The issuer refused.
    #[error("the issuer answered {0}")]
    RequestFailed(http::StatusCode),
    /// The issuer did not accept client id and secret in either of the two ways to send them (RFC 6749, 2.3.1).
    #[error("the issuer does not accept `client-id`, `client-secret` or `refresh-token`: log in again")]
    AuthorizationFailure,
    /// The issuer's description of itself cannot be read.
    #[error("the issuer's .well-known/openid-configuration is not JSON with a `token_endpoint`: {}", ErrorChain(.0))]
    InvalidMetadata(#[source] serde_json::Error),
    /// A request could not be built.
    #[error("the request to the issuer cannot be built: {}", ErrorChain(.0))]
    HttpError(#[from] http::Error),
    /// The answer with the tokens cannot be read.
    #[error("the issuer's answer is not JSON with tokens: {}", ErrorChain(.0))]
    InvalidTokenResponse(#[source] serde_json::Error),
    /// There is no ID token in the answer.
    #[error("the issuer gave no `id_token`")]
    NoIdTokenReceived,
}
