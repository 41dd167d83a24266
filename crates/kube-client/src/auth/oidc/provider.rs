//! Which ID token to use: the one that stands in the kubeconfig, or a new one.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;
use secrecy::{ExposeSecret, SecretString};
use tokio::time::Instant;

use super::errors::{Error, RefreshInitError};
use super::id_token::expiry;
use super::refresh::Refresher;
use crate::auth::AuthError;
use crate::auth::cache::{Renewed, renewal};
use crate::auth::header::bearer;

/// The provider's settings, and what has become of its tokens since.
///
/// New tokens are held in memory: the kubeconfig is not written.
#[derive(Debug)]
pub(in crate::auth) struct Oidc {
    /// Taken by the first who asks; whoever asks again wants another one.
    first_token: Mutex<Option<SecretString>>,
    refresher: Result<Refresher, RefreshInitError>,
}

impl Oidc {
    /// Fails if no token can ever come of the settings.
    pub(in crate::auth) fn new(settings: &HashMap<String, String>) -> Result<Self, AuthError> {
        let first_token = settings.get("id-token").filter(|token| !token.is_empty());
        let first_token = first_token.map(|token| SecretString::from(token.as_str()));
        let refresher = Refresher::new(settings);
        if first_token.is_none()
            && let Err(err) = &refresher
        {
            let missing = matches!(err, RefreshInitError::MissingField("refresh-token"));
            let err = if missing { Error::IdTokenMissing } else { err.clone().into() };
            return Err(AuthError::Oidc(err));
        }
        Ok(Self { first_token: Mutex::new(first_token), refresher })
    }

    pub(in crate::auth) async fn fetch(&self) -> Result<Renewed, AuthError> {
        let first = self.first_token.lock().unwrap_or_else(PoisonError::into_inner).take();
        let held = first.map(|token| credential(token.expose_secret()));
        match (held, &self.refresher) {
            // A refusal of it is worth another one at once, where there is a way to one.
            (Some(Ok(Some(credential))), next) => Ok(Renewed { was_there: next.is_ok(), ..credential }),
            // What stands in the kubeconfig has expired or makes no sense: a new one will do.
            (_, Ok(refresher)) => {
                let token = refresher.refresh().await?;
                let made = credential(&token)?;
                // An issuer whose clock is far behind still gave what it has.
                made.map_or_else(|| bearer(&token).map(used_once), Ok)
            }
            (Some(Err(err)), Err(_)) => Err(err),
            (_, Err(missing)) => Err(AuthError::Oidc(missing.clone().into())),
        }
    }
}

/// The credential that a token is; `None` if it has expired.
fn credential(token: &str) -> Result<Option<Renewed>, AuthError> {
    let expiry = expiry(token).map_err(|err| AuthError::Oidc(err.into()))?;
    let now = Timestamp::now();
    if expiry <= now {
        return Ok(None);
    }
    let renew_at = Some(renewal(expiry, now, Instant::now()));
    Ok(Some(Renewed { renew_at, ..Renewed::once(Some(bearer(token)?)) }))
}

fn used_once(header: http::HeaderValue) -> Renewed {
    Renewed { renew_at: Some(Instant::now()), ..Renewed::once(Some(header)) }
}
