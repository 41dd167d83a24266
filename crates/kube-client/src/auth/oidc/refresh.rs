//! A new ID token by a refresh token (OpenID Connect Core, 12; RFC 6749, 6).

use std::collections::HashMap;
use std::fmt;

use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{Request, Response, StatusCode, Uri};
use parking_lot::Mutex;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;

use super::errors::{Error, RefreshError, RefreshInitError};
use crate::auth::AuthError;
use crate::auth::token_request::{TokenRequestError, send_token_request};
use crate::config::{
    Config, Redacted, Schemes, UserOrigin, certificates_from_pem, parse_url, proxy_from_env,
    without_quoted_value,
};

/// Fetches new ID tokens.
pub(super) struct Refresher {
    issuer: String,
    client_id: String,
    client_secret: Option<String>,
    /// The issuer may replace it with each use.
    refresh_token: Mutex<String>,
    /// The issuer's CA certificates; `None` for the public ones.
    ca_certificates: Option<Vec<Vec<u8>>>,
    /// Where new tokens are saved.
    origin: Option<UserOrigin>,
    /// The refresh token that the file is known to have: not the current one, if that could not be saved.
    saved_token: Mutex<String>,
}

impl Refresher {
    pub(super) fn new(
        settings: &HashMap<String, String>,
        origin: Option<UserOrigin>,
    ) -> Result<Self, RefreshInitError> {
        let setting = |key: &str| settings.get(key).filter(|value| !value.is_empty()).cloned();
        let required = |key: &'static str| setting(key).ok_or(RefreshInitError::MissingField(key));
        let ca_certificates =
            match (setting("idp-certificate-authority-data"), setting("idp-certificate-authority")) {
                (Some(data), _) => STANDARD.decode(data.trim()).ok(),
                (None, Some(file)) => std::fs::read(file).ok(),
                (None, None) => Some(Vec::new()),
            };
        let pem = ca_certificates.ok_or(RefreshInitError::NoValidNativeRootCA)?;
        let ca_certificates = if pem.is_empty() { None } else { Some(certificates_from_pem(&pem)) };
        Ok(Self {
            refresh_token: Mutex::new(required("refresh-token")?),
            saved_token: Mutex::new(required("refresh-token")?),
            origin,
            issuer: required("idp-issuer-url")?,
            client_id: required("client-id")?,
            client_secret: setting("client-secret"),
            ca_certificates: ca_certificates
                .transpose()
                .map_err(|_| RefreshInitError::NoValidNativeRootCA)?,
        })
    }

    pub(super) async fn refresh(&self) -> Result<String, AuthError> {
        self.read_saved().await;
        let endpoint = self.token_endpoint().await?;
        let mut response = None;
        // Issuers accept client authentication as a header, in the body, or both; RFC 6749 recommends the header.
        for in_header in [true, false] {
            if in_header && self.client_secret.is_none() {
                continue;
            }
            let attempt = self.request(&endpoint, self.token_request(&endpoint, in_header)?).await?;
            if attempt.status().is_success() {
                response = Some(attempt);
                break;
            }
            if !matches!(
                attempt.status(),
                StatusCode::BAD_REQUEST | StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN
            ) {
                return Err(failed(RefreshError::RequestFailed(attempt.status())));
            }
        }
        let response = response.ok_or_else(|| failed(RefreshError::AuthorizationFailure))?;
        let tokens: Tokens = serde_json::from_slice(response.body())
            .map_err(|err| failed(RefreshError::InvalidTokenResponse(without_quoted_value(err))))?;
        if let Some(next) = tokens.refresh_token {
            *self.refresh_token.lock() = next;
        }
        self.save(tokens.id_token.clone()).await;
        tokens.id_token.ok_or_else(|| failed(RefreshError::NoIdTokenReceived))
    }

    /// Takes the refresh token of the kubeconfig if it has changed: kubectl has replaced the one that is known here.
    async fn read_saved(&self) {
        let Some(origin) = self.origin.clone() else { return };
        let read = tokio::task::spawn_blocking(move || origin.provider_settings()).await;
        let settings = read.unwrap_or_else(|stopped| Err(stopped.into())).unwrap_or_default();
        let mut known = self.saved_token.lock();
        if let Some(saved) =
            settings.get("refresh-token").filter(|token| !token.is_empty() && **token != *known)
        {
            known.clone_from(saved);
            self.refresh_token.lock().clone_from(saved);
        }
    }

    async fn save(&self, id_token: Option<String>) {
        let Some(origin) = self.origin.clone() else { return };
        let refresh_token = self.refresh_token.lock().clone();
        let saved = tokio::task::spawn_blocking(move || {
            let mut changed = vec![("refresh-token", refresh_token.as_str())];
            changed.extend(id_token.as_deref().map(|token| ("id-token", token)));
            origin.save_provider_settings(&changed).map(|()| refresh_token)
        });
        match saved.await.unwrap_or_else(|stopped| Err(stopped.into())) {
            Ok(refresh_token) => *self.saved_token.lock() = refresh_token,
            Err(err) => {
                let origin = &self.origin;
                tracing::warn!(%err, ?origin, "new tokens of the auth provider \"oidc\" cannot be saved: other programs have to log in again");
            }
        }
    }

    /// Discovered for each refresh, about once an hour: it may change.
    async fn token_endpoint(&self) -> Result<Uri, AuthError> {
        let url = format!("{}/.well-known/openid-configuration", self.issuer.trim_end_matches('/'));
        let url = parse_url(&url, Schemes::Http).map_err(|err| failed(RefreshError::InvalidURI(err)))?;
        let request = Request::get(&url).header(ACCEPT, "application/json").body(Bytes::new());
        let response =
            self.request(&url, request.map_err(|err| failed(RefreshError::HttpError(err)))?).await?;
        if !response.status().is_success() {
            return Err(failed(RefreshError::RequestFailed(response.status())));
        }
        let metadata: Metadata = serde_json::from_slice(response.body())
            .map_err(|err| failed(RefreshError::InvalidMetadata(err)))?;
        parse_url(&metadata.token_endpoint, Schemes::Http)
            .map_err(|err| failed(RefreshError::InvalidURI(err)))
    }

    fn token_request(&self, endpoint: &Uri, in_header: bool) -> Result<Request<Bytes>, AuthError> {
        let refresh_token = self.refresh_token.lock().clone();
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

    async fn request(&self, url: &Uri, request: Request<Bytes>) -> Result<Response<Bytes>, AuthError> {
        let mut config = Config::new(url.clone());
        config.root_cert = self.ca_certificates.clone();
        config.proxy_url = proxy_from_env(url).map_err(|err| AuthError::AuthExec(err.to_string()))?;
        send_token_request(&config, request).await.map_err(|err| match err {
            TokenRequestError::Sending(err) => failed(RefreshError::HyperUtilError(err)),
            TokenRequestError::Reading(err) => failed(RefreshError::HyperError(err)),
            TokenRequestError::Other(err) => err,
        })
    }
}

/// Without tokens.
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
