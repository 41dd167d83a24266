//! The token in the kubeconfig, where `gcloud` or `kubectl` cached it.

use std::collections::HashMap;

use http::HeaderValue;
use jiff::Timestamp;
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::auth::AuthError;
use crate::auth::cache::FetchedCredential;
use crate::auth::header::bearer;

/// `access-token`, used until `expiry` if that is a valid time, else until the server refuses it.
#[derive(Debug)]
pub(super) struct CachedToken {
    /// Taken by the first fetch; a later fetch needs a new token.
    header: Mutex<Option<HeaderValue>>,
    expiry: Option<Timestamp>,
}

impl CachedToken {
    pub(super) fn of(settings: &HashMap<String, String>) -> Result<Self, AuthError> {
        let token = settings.get("access-token").filter(|token| !token.is_empty());
        let header = token.map(|token| bearer(token)).transpose()?;
        let expiry = settings.get("expiry").and_then(|expiry| expiry.parse().ok());
        Ok(Self { header: Mutex::new(header), expiry })
    }

    pub(super) fn take(&self, now: Timestamp, instant: Instant) -> Option<FetchedCredential> {
        let header = self.header.lock().take()?;
        if self.expiry.is_some_and(|expiry| expiry <= now) {
            return None;
        }
        let credential =
            FetchedCredential { from_kubeconfig: true, ..FetchedCredential::until_refused(Some(header)) };
        Some(credential.expires(self.expiry, now, instant))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn cached_token(pairs: &[(&str, &str)]) -> CachedToken {
        let settings = pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        CachedToken::of(&settings).unwrap()
    }

    #[test]
    fn a_cached_token_is_used_once_and_until_it_expires() {
        let (now, instant) = ("2026-01-01T00:00:00Z".parse().unwrap(), Instant::now());
        let token = cached_token(&[("access-token", "abc"), ("expiry", "2026-01-01T00:10:00.5Z")]);
        let credential = token.take(now, instant).unwrap();
        assert_eq!(credential.header.unwrap(), "Bearer abc");
        assert_eq!(credential.refresh_at.unwrap() - instant, Duration::from_millis(600_500 - 30_000));
        assert!(credential.from_kubeconfig && token.take(now, instant).is_none());
        assert!(
            cached_token(&[("access-token", "a"), ("expiry", "2025-12-31T23:59:59Z")])
                .take(now, instant)
                .is_none()
        );
        for expiry in ["", "soon"] {
            let credential =
                cached_token(&[("access-token", "a"), ("expiry", expiry)]).take(now, instant).unwrap();
            assert_eq!(credential.refresh_at, None);
        }
        assert!(cached_token(&[("access-token", "")]).take(now, instant).is_none());
        assert!(cached_token(&[]).take(now, instant).is_none());
        let odd = [("access-token".to_owned(), "a\nb".to_owned())].into();
        assert!(matches!(CachedToken::of(&odd), Err(AuthError::InvalidBearerToken(_))));
    }
}
