//! Getting a new ID token with a refresh token (OpenID Connect Core, 12; RFC 6749, 6).

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{Request, Response, StatusCode, Uri};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;

use super::errors::{Error, RefreshError, RefreshInitError};
use crate::auth::AuthError;
use crate::auth::http::{AskError, ask};
use crate::config::{Config, Redacted, certificates_from_pem, proxy_from_env, without_quoted_value};

/// All that is needed to get a new ID token, again and again.
pub(super) struct Refresher {
    issuer: String,
    client_id: String,
    client_secret: Option<String>,
    /// Issuers may replace it each time it is used.
    refresh_token: Mutex<String>,
    /// The issuer's authorities, where they are not public ones.
    authorities: Option<Vec<Vec<u8>>>,
}

impl Refresher {
    pub(super) fn new(settings: &HashMap<String, String>) -> Result<Self, RefreshInitError> {
        let given = |key: &str| settings.get(key).filter(|value| !value.is_empty()).cloned();
        let needed = |key: &'static str| given(key).ok_or(RefreshInitError::MissingField(key));
        let authorities = match (given("idp-certificate-authority-data"), given("idp-certificate-authority"))
        {
            (Some(data), _) => STANDARD.decode(data.trim()).ok(),
            (None, Some(file)) => std::fs::read(file).ok(),
            (None, None) => Some(Vec::new()),
        };
        let pem = authorities.ok_or(RefreshInitError::NoValidNativeRootCA)?;
        let authorities = if pem.is_empty() { None } else { Some(certificates_from_pem(&pem)) };
        Ok(Self {
            refresh_token: Mutex::new(needed("refresh-token")?),
            issuer: needed("idp-issuer-url")?,
            client_id: needed("client-id")?,
            client_secret: given("client-secret"),
            authorities: authorities.transpose().map_err(|_| RefreshInitError::NoValidNativeRootCA)?,
        })
    }

    pub(super) async fn refresh(&self) -> Result<String, AuthError> {
        let endpoint = self.token_endpoint().await?;
        let mut answer = None;
        // Which of the two ways to name itself an issuer accepts is not known; the header is what RFC 6749 recommends.
        for in_header in [true, false] {
            if in_header && self.client_secret.is_none() {
                continue;
            }
            let given = self.ask(&endpoint, self.token_request(&endpoint, in_header)?).await?;
            if given.status().is_success() {
                answer = Some(given);
                break;
            }
            if !matches!(
                given.status(),
                StatusCode::BAD_REQUEST | StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN
            ) {
                return Err(failed(RefreshError::RequestFailed(given.status())));
            }
        }
        let answer = answer.ok_or_else(|| failed(RefreshError::AuthorizationFailure))?;
        let tokens: Tokens = serde_json::from_slice(answer.body())
            .map_err(|err| failed(RefreshError::InvalidTokenResponse(without_quoted_value(err))))?;
        if let Some(next) = tokens.refresh_token {
            *self.refresh_token.lock().unwrap_or_else(PoisonError::into_inner) = next;
        }
        tokens.id_token.ok_or_else(|| failed(RefreshError::NoIdTokenReceived))
    }

    /// Asked anew each time: that is once an hour or so, and issuers move.
    async fn token_endpoint(&self) -> Result<Uri, AuthError> {
        let url = format!("{}/.well-known/openid-configuration", self.issuer.trim_end_matches('/'));
        let url: Uri = url.parse().map_err(|err| failed(RefreshError::InvalidURI(err)))?;
        let request = Request::get(&url).header(ACCEPT, "application/json").body(Bytes::new());
        let answer = self.ask(&url, request.map_err(|err| failed(RefreshError::HttpError(err)))?).await?;
        if !answer.status().is_success() {
            return Err(failed(RefreshError::RequestFailed(answer.status())));
        }
        let metadata: Metadata = serde_json::from_slice(answer.body())
            .map_err(|err| failed(RefreshError::InvalidMetadata(err)))?;
        metadata.token_endpoint.parse().map_err(|err| failed(RefreshError::InvalidURI(err)))
    }

    fn token_request(&self, endpoint: &Uri, in_header: bool) -> Result<Request<Bytes>, AuthError> {
        let refresh_token = self.refresh_token.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut form = format!("grant_type=refresh_token&refresh_token={}", escaped(&refresh_token));
        let mut request = Request::post(endpoint)
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .header(ACCEPT, "application/json");
        let secret = self.client_secret.as_deref().map(escaped);
        match (in_header, secret) {
            (true, secret) => {
                let pair = format!("{}:{}", escaped(&self.client_id), secret.unwrap_or_default());
                request = request.header(AUTHORIZATION, format!("Basic {}", STANDARD.encode(pair)));
            }
            (false, secret) => {
                form.push_str(&format!("&client_id={}", escaped(&self.client_id)));
                if let Some(secret) = secret {
                    form.push_str(&format!("&client_secret={secret}"));
                }
            }
        }
        request.body(form.into()).map_err(|err| failed(RefreshError::HttpError(err)))
    }

    async fn ask(&self, url: &Uri, request: Request<Bytes>) -> Result<Response<Bytes>, AuthError> {
        let mut config = Config::new(url.clone());
        config.root_cert = self.authorities.clone();
        config.proxy_url = proxy_from_env(url).map_err(|err| AuthError::AuthExec(err.to_string()))?;
        ask(&config, request).await.map_err(|err| match err {
            AskError::Sending(err) => failed(RefreshError::HyperUtilError(err)),
            AskError::Reading(err) => failed(RefreshError::HyperError(err)),
            AskError::Other(err) => err,
        })
    }
}

/// Tokens do not show.
impl fmt::Debug for Refresher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Refresher").field("issuer", &Redacted::Text(&self.issuer)).finish_non_exhaustive()
    }
}

#[derive(Deserialize)]
struct Metadata {
    token_endpoint: String,
}

#[derive(Deserialize)]
struct Tokens {
    id_token: Option<String>,
    refresh_token: Option<String>,
}

fn escaped(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

fn failed(err: RefreshError) -> AuthError {
    AuthError::Oidc(Error::Refresh(err))
}
