//! Errors of the auth provider `oidc`.

use thiserror::Error as ThisError;

use crate::chain::ErrorChain;

/// Why the auth provider `oidc` returned no token.
#[derive(Debug, ThisError)]
pub enum Error {
    /// There is neither an ID token nor a refresh token.
    #[error("the auth provider has neither an `id-token` nor a `refresh-token`")]
    IdTokenMissing,
    /// The ID token cannot be used.
    #[error("the `id-token` cannot be used: {}", ErrorChain(.0))]
    IdToken(#[from] IdTokenError),
    /// The ID token has expired, and the settings do not allow a refresh.
    #[error("the `id-token` has expired and cannot be refreshed: {}", ErrorChain(.0))]
    RefreshInit(#[from] RefreshInitError),
    /// The refresh of the ID token failed.
    #[error("the `id-token` cannot be refreshed: {}", ErrorChain(.0))]
    Refresh(#[from] RefreshError),
}

/// Why the ID token is not a JSON Web Token (RFC 7519) with an expiry.
#[derive(Debug, ThisError)]
pub enum IdTokenError {
    /// It does not have three parts.
    #[error("it does not have the form header.payload.signature")]
    InvalidFormat,
    /// Its payload is not base64url.
    #[error("its payload is not base64url: {}", ErrorChain(.0))]
    InvalidBase64(#[from] base64::DecodeError),
    /// Its payload is not JSON with an `exp`.
    #[error("its payload is not JSON with a number `exp`: {}", ErrorChain(.0))]
    InvalidJson(#[from] serde_json::Error),
    /// Its `exp` is not a valid time.
    #[error("its `exp` is not a valid time: {}", ErrorChain(.0))]
    InvalidExpirationTimestamp(#[from] jiff::Error),
}

/// Why the settings do not allow a refresh.
#[derive(Clone, Debug, ThisError)]
pub enum RefreshInitError {
    /// A setting is missing.
    #[error("the auth provider has no `{0}`")]
    MissingField(&'static str),
    /// The OpenSSL connector could not be created.
    #[cfg(feature = "openssl-tls")]
    #[error("the TLS connector cannot be created: {}", ErrorChain(.0))]
    CreateOpensslHttpsConnector(#[from] openssl::error::ErrorStack),
    /// The issuer's CA certificates cannot be read.
    #[error(
        "the issuer's CA certificates cannot be read (`idp-certificate-authority` or `idp-certificate-authority-data`)"
    )]
    NoValidNativeRootCA,
}

/// Why the issuer returned no new token.
#[derive(Debug, ThisError)]
pub enum RefreshError {
    /// The URL of the issuer or of its token endpoint is not valid.
    #[error("the issuer's URL (`idp-issuer-url`, or its `token_endpoint`) is not valid: {}", ErrorChain(.0))]
    InvalidURI(#[from] http::uri::InvalidUri),
    /// The response is incomplete.
    #[error("the issuer's response is incomplete: {}", ErrorChain(.0))]
    HyperError(#[from] hyper::Error),
    /// There is no response.
    #[error("the issuer cannot be reached: {}", ErrorChain(.0))]
    HyperUtilError(#[from] hyper_util::client::legacy::Error),
    /// The issuer refused the request.
    #[error("the issuer responded {0}")]
    RequestFailed(http::StatusCode),
    /// The issuer accepted client id and secret neither as a header nor in the body (RFC 6749, 2.3.1).
    #[error("the issuer does not accept `client-id`, `client-secret` or `refresh-token`: log in again")]
    AuthorizationFailure,
    /// The issuer's metadata cannot be decoded.
    #[error("the issuer's .well-known/openid-configuration is not JSON with a `token_endpoint`: {}", ErrorChain(.0))]
    InvalidMetadata(#[source] serde_json::Error),
    /// A request could not be built.
    #[error("the request to the issuer cannot be built: {}", ErrorChain(.0))]
    HttpError(#[from] http::Error),
    /// The response with the tokens cannot be decoded.
    #[error("the issuer's response is not JSON with tokens: {}", ErrorChain(.0))]
    InvalidTokenResponse(#[source] serde_json::Error),
    /// The response has no ID token.
    #[error("the issuer returned no `id_token`")]
    NoIdTokenReceived,
}
