//! Google's application default credentials, by `tame-oauth`: the auth provider `gcp` without a command.

mod error;

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use http::Request;
use jiff::Timestamp;
use parking_lot::Mutex;
use tame_oauth::Error;
use tame_oauth::gcp::{Token, TokenOrRequest, TokenProvider, TokenProviderWrapperInner};
use tokio::time::Instant;

use super::AuthError;
use super::cache::FetchedCredential;
use super::header::bearer;
use super::token_request::{TokenRequestError, send_token_request};
use crate::config::{Config, proxy_from_env};
use crate::time::now;

pub use error::OAuthError;

/// The requested scopes, and the default credentials once they are found.
pub(super) struct OAuth {
    scopes: Vec<String>,
    provider: Mutex<Option<Arc<TokenProviderWrapperInner>>>,
}

/// gcloud's default scopes.
const DEFAULT_SCOPES: &str =
    "https://www.googleapis.com/auth/cloud-platform,https://www.googleapis.com/auth/userinfo.email";

/// How many characters of an unexpected response an error contains.
const MAX_CHARS: usize = 1024;

impl OAuth {
    pub(super) fn new(settings: &HashMap<String, String>) -> Self {
        let scopes = settings.get("scopes").map_or(DEFAULT_SCOPES, String::as_str);
        let scopes = scopes.split(',').map(str::trim).filter(|scope| !scope.is_empty());
        Self { scopes: scopes.map(str::to_owned).collect(), provider: Mutex::default() }
    }

    pub(super) async fn fetch(&self) -> Result<FetchedCredential, AuthError> {
        let provider = self.provider().await?;
        let token = match provider.get_token(&self.scopes).map_err(|err| failed(of_key(err)))? {
            TokenOrRequest::Token(token) => token,
            TokenOrRequest::Request { request, scope_hash, .. } => {
                let response = send(request.map(Bytes::from)).await?;
                let body = response.body().clone();
                let parsed = provider.parse_token_response(scope_hash, response);
                parsed.map_err(|err| failed(refused(err, &body)))?
            }
        };
        credential(&token)
    }

    /// Finds the default credentials at the first use, on a blocking thread since that reads files.
    async fn provider(&self) -> Result<Arc<TokenProviderWrapperInner>, AuthError> {
        if let Some(known) = self.provider.lock().clone() {
            return Ok(known);
        }
        let found = tokio::task::spawn_blocking(TokenProviderWrapperInner::get_default_provider).await;
        let found = found.map_err(|err| failed(OAuthError::Unknown(err.to_string())))?;
        let found = found.map_err(|err| failed(OAuthError::InvalidDefaultProviderConfig(err)))?;
        let found = Arc::new(found.ok_or_else(|| failed(OAuthError::NoDefaultProvider))?);
        *self.provider.lock() = Some(Arc::clone(&found));
        Ok(found)
    }
}

/// Without the key.
impl fmt::Debug for OAuth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OAuth").field("scopes", &self.scopes).finish_non_exhaustive()
    }
}

async fn send(request: Request<Bytes>) -> Result<http::Response<Bytes>, AuthError> {
    let mut config = Config::new(request.uri().clone());
    config.proxy_url =
        proxy_from_env(request.uri()).map_err(|err| failed(OAuthError::Unknown(err.to_string())))?;
    send_token_request(&config, request).await.map_err(|err| match err {
        TokenRequestError::Sending(err) => failed(OAuthError::RequestToken(err)),
        TokenRequestError::Reading(err) => failed(OAuthError::ConcatBuffers(err)),
        TokenRequestError::Other(err) => err,
    })
}

fn credential(token: &Token) -> Result<FetchedCredential, AuthError> {
    let expiry =
        token.expires_in_timestamp.map(|expiry| Timestamp::try_from(expiry).unwrap_or(Timestamp::MAX));
    let credential = FetchedCredential::until_refused(Some(bearer(&token.access_token)?));
    Ok(credential.expires(expiry, now(), Instant::now()))
}

fn of_key(err: Error) -> OAuthError {
    match err {
        Error::InvalidKeyFormat => OAuthError::InvalidKeyFormat(err),
        Error::InvalidRsaKey(_) | Error::InvalidRsaKeyRejected(_) => OAuthError::InvalidRsaKey(err),
        other => OAuthError::Unknown(other.to_string()),
    }
}

/// The endpoint's error, or the beginning of a response that is not in OAuth's format.
fn refused(err: Error, body: &[u8]) -> OAuthError {
    match err {
        Error::HttpStatus(code) => {
            let beginning: String = String::from_utf8_lossy(body).trim().chars().take(MAX_CHARS).collect();
            OAuthError::Unknown(format!("the token endpoint responded {code}: {beginning}"))
        }
        other => OAuthError::RetrieveCredentials(other),
    }
}

fn failed(err: OAuthError) -> AuthError {
    AuthError::OAuth(err)
}

#[cfg(test)]
mod tests;
