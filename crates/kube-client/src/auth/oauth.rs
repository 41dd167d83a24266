//! The provider `gcp` without a command: Google's default credentials, by `tame-oauth`.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use bytes::Bytes;
use http::Request;
use tame_oauth::Error;
use tame_oauth::gcp::{Token, TokenOrRequest, TokenProvider, TokenProviderWrapperInner};
use thiserror::Error as ThisError;
use tokio::time::Instant;

use super::AuthError;
use super::cache::{Renewed, renewal};
use super::header::bearer;
use super::http::{AskError, ask};
use crate::chain::ErrorChain;
use crate::config::{Config, proxy_from_env};

/// Google's default credentials gave no token.
#[derive(Debug, ThisError)]
pub enum OAuthError {
    /// There are none.
    #[error(
        "there are no default credentials: set GOOGLE_APPLICATION_CREDENTIALS, or run `gcloud auth application-default login`"
    )]
    NoDefaultProvider,
    /// The default credentials cannot be used.
    #[error("the default credentials cannot be used: {}", ErrorChain(.0))]
    InvalidDefaultProviderConfig(#[source] Error),
    /// The service account's key is in no known format.
    #[error("the service account's key is in no known format: expected PKCS#8 PEM: {}", ErrorChain(.0))]
    InvalidKeyFormat(#[source] Error),
    /// The service account's key is no RSA key.
    #[error("the service account's key is no RSA key: {}", ErrorChain(.0))]
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
    /// No answer came.
    #[error("the token endpoint cannot be reached: {}", ErrorChain(.0))]
    RequestToken(#[source] hyper_util::client::legacy::Error),
    /// The answer broke off.
    #[error("the token endpoint's answer broke off: {}", ErrorChain(.0))]
    ConcatBuffers(#[source] hyper::Error),
    /// The token endpoint refused.
    #[error("the token endpoint gave no token: {}", ErrorChain(.0))]
    RetrieveCredentials(#[source] Error),
    /// The answer with the token cannot be read.
    #[error("the token endpoint's answer is not JSON with a token: {}", ErrorChain(.0))]
    ParseToken(#[source] serde_json::Error),
    /// The platform has no authorities.
    #[error("the platform has no certificate authorities: {}", ErrorChain(.0))]
    NoValidNativeRootCA(#[source] std::io::Error),
    /// OpenSSL made no connector.
    #[cfg(feature = "openssl-tls")]
    #[error("the connector for TLS cannot be made: {}", ErrorChain(.0))]
    CreateOpensslHttpsConnector(#[source] openssl::error::ErrorStack),
    /// Anything else.
    #[error("{0}")]
    Unknown(String),
}

/// The scopes to ask for, and the credentials once they are found.
pub(super) struct OAuth {
    scopes: Vec<String>,
    provider: Mutex<Option<Arc<TokenProviderWrapperInner>>>,
}

/// Where the kubeconfig names none, as `gcloud` has it.
const DEFAULT_SCOPES: &str =
    "https://www.googleapis.com/auth/cloud-platform,https://www.googleapis.com/auth/userinfo.email";

/// How many characters of an answer are shown.
const SHOWN: usize = 1024;

impl OAuth {
    pub(super) fn new(settings: &HashMap<String, String>) -> Self {
        let scopes = settings.get("scopes").map_or(DEFAULT_SCOPES, String::as_str);
        let scopes = scopes.split(',').map(str::trim).filter(|scope| !scope.is_empty());
        Self { scopes: scopes.map(str::to_owned).collect(), provider: Mutex::default() }
    }

    pub(super) async fn fetch(&self) -> Result<Renewed, AuthError> {
        let provider = self.provider().await?;
        let token = match provider.get_token(&self.scopes).map_err(|err| failed(of_key(err)))? {
            TokenOrRequest::Token(token) => token,
            TokenOrRequest::Request { request, scope_hash, .. } => {
                let answer = send(request.map(Bytes::from)).await?;
                let body = answer.body().clone();
                let parsed = provider.parse_token_response(scope_hash, answer);
                parsed.map_err(|err| failed(refused(err, &body)))?
            }
        };
        credential(&token)
    }

    /// Looked for when it is first needed, off the async threads: that reads files.
    async fn provider(&self) -> Result<Arc<TokenProviderWrapperInner>, AuthError> {
        if let Some(known) = self.provider.lock().unwrap_or_else(PoisonError::into_inner).clone() {
            return Ok(known);
        }
        let found = tokio::task::spawn_blocking(TokenProviderWrapperInner::get_default_provider).await;
        let found = found.map_err(|err| failed(OAuthError::Unknown(err.to_string())))?;
        let found = found.map_err(|err| failed(OAuthError::InvalidDefaultProviderConfig(err)))?;
        let found = Arc::new(found.ok_or_else(|| failed(OAuthError::NoDefaultProvider))?);
        *self.provider.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&found));
        Ok(found)
    }
}

/// The key does not show.
impl fmt::Debug for OAuth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OAuth").field("scopes", &self.scopes).finish_non_exhaustive()
    }
}

async fn send(request: Request<Bytes>) -> Result<http::Response<Bytes>, AuthError> {
    let mut config = Config::new(request.uri().clone());
    config.proxy_url =
        proxy_from_env(request.uri()).map_err(|err| failed(OAuthError::Unknown(err.to_string())))?;
    ask(&config, request).await.map_err(|err| match err {
        AskError::Sending(err) => failed(OAuthError::RequestToken(err)),
        AskError::Reading(err) => failed(OAuthError::ConcatBuffers(err)),
        AskError::Other(err) => err,
    })
}

fn credential(token: &Token) -> Result<Renewed, AuthError> {
    let renew_at = token.expires_in_timestamp.map(|expiry| {
        let left = expiry.duration_since(SystemTime::now()).unwrap_or_default();
        let now = jiff::Timestamp::now();
        renewal(now.checked_add(left).unwrap_or(jiff::Timestamp::MAX), now, Instant::now())
    });
    Ok(Renewed { renew_at, ..Renewed::once(Some(bearer(&token.access_token)?)) })
}

fn of_key(err: Error) -> OAuthError {
    match err {
        Error::InvalidKeyFormat => OAuthError::InvalidKeyFormat(err),
        Error::InvalidRsaKey(_) | Error::InvalidRsaKeyRejected(_) => OAuthError::InvalidRsaKey(err),
        other => OAuthError::Unknown(other.to_string()),
    }
}

/// An answer whose reason is in no form that is known shows itself.
fn refused(err: Error, body: &[u8]) -> OAuthError {
    match err {
        Error::HttpStatus(code) => {
            let beginning: String = String::from_utf8_lossy(body).trim().chars().take(SHOWN).collect();
            OAuthError::Unknown(format!("the token endpoint answered {code}: {beginning}"))
        }
        other => OAuthError::RetrieveCredentials(other),
    }
}

fn failed(err: OAuthError) -> AuthError {
    AuthError::OAuth(err)
}

#[cfg(test)]
mod tests;
