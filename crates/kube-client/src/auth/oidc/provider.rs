//! The choice between the ID token in the kubeconfig and a new one.

use std::collections::HashMap;

use parking_lot::Mutex;
use secrecy::{ExposeSecret, SecretString};
use tokio::time::Instant;

use super::errors::{Error, RefreshInitError};
use super::id_token::expiry;
use super::refresh::Refresher;
use crate::auth::AuthError;
use crate::auth::cache::FetchedCredential;
use crate::auth::header::bearer;
use crate::config::UserOrigin;
use crate::time::now;

/// The settings of the auth provider, and its current tokens.
///
/// New tokens are saved to the kubeconfig that the user came from, if it came from one: an issuer that replaces refresh tokens accepts each
/// one once, and the next program would have the old one.
#[derive(Debug)]
pub(in crate::auth) struct Oidc {
    /// Taken by the first fetch; a later fetch needs a new token.
    first_token: Mutex<Option<SecretString>>,
    refresher: Result<Refresher, RefreshInitError>,
}

impl Oidc {
    /// Fails if the settings can never lead to a token.
    pub(in crate::auth) fn new(
        settings: &HashMap<String, String>,
        origin: Option<UserOrigin>,
    ) -> Result<Self, AuthError> {
        let first_token = settings.get("id-token").filter(|token| !token.is_empty());
        let first_token = first_token.map(|token| SecretString::from(token.as_str()));
        let refresher = Refresher::new(settings, origin);
        if first_token.is_none()
            && let Err(err) = &refresher
        {
            let missing = matches!(err, RefreshInitError::MissingField("refresh-token"));
            let err = if missing { Error::IdTokenMissing } else { err.clone().into() };
            return Err(AuthError::Oidc(err));
        }
        Ok(Self { first_token: Mutex::new(first_token), refresher })
    }

    pub(in crate::auth) async fn fetch(&self) -> Result<FetchedCredential, AuthError> {
        let first = self.first_token.lock().take();
        let cached = first.map(|token| credential(token.expose_secret()));
        match (cached, &self.refresher) {
            // If the server refuses it, a refresh follows immediately if the settings allow one.
            (Some(Ok(Some(credential))), next) => {
                Ok(FetchedCredential { from_kubeconfig: next.is_ok(), ..credential })
            }
            // The token in the kubeconfig has expired or is not valid.
            (_, Ok(refresher)) => {
                let token = refresher.refresh().await?;
                let made = credential(&token)?;
                // An issuer whose clock is behind issues tokens that look expired: use one once.
                made.map_or_else(|| bearer(&token).map(used_once), Ok)
            }
            (Some(Err(err)), Err(_)) => Err(err),
            (_, Err(missing)) => Err(AuthError::Oidc(missing.clone().into())),
        }
    }
}

/// The credential of a token; `None` if it has expired.
fn credential(token: &str) -> Result<Option<FetchedCredential>, AuthError> {
    let expiry = expiry(token).map_err(|err| AuthError::Oidc(err.into()))?;
    let now = now();
    if expiry <= now {
        return Ok(None);
    }
    let credential = FetchedCredential::until_refused(Some(bearer(token)?));
    Ok(Some(credential.expires(Some(expiry), now, Instant::now())))
}

fn used_once(header: http::HeaderValue) -> FetchedCredential {
    FetchedCredential { refresh_at: Some(Instant::now()), ..FetchedCredential::until_refused(Some(header)) }
}
