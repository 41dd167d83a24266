//! The token that stands in the kubeconfig, where `gcloud` or `kubectl` put the last one.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use http::HeaderValue;
use jiff::Timestamp;
use tokio::time::Instant;

use crate::auth::AuthError;
use crate::auth::cache::{Renewed, renewal};
use crate::auth::header::bearer;

/// `access-token`, until `expiry` where that is a time and until the server refuses it otherwise.
#[derive(Debug)]
pub(super) struct StandingToken {
    /// Taken by the first who asks; whoever asks again wants another one.
    header: Mutex<Option<HeaderValue>>,
    expiry: Option<Timestamp>,
}

impl StandingToken {
    pub(super) fn of(settings: &HashMap<String, String>) -> Result<Self, AuthError> {
        let token = settings.get("access-token").filter(|token| !token.is_empty());
        let header = token.map(|token| bearer(token)).transpose()?;
        let expiry = settings.get("expiry").and_then(|expiry| expiry.parse().ok());
        Ok(Self { header: Mutex::new(header), expiry })
    }

    pub(super) fn take(&self, now: Timestamp, instant: Instant) -> Option<Renewed> {
        // A header is taken whole or not at all, so a panic elsewhere leaves nothing half done.
        let header = self.header.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        if self.expiry.is_some_and(|expiry| expiry <= now) {
            return None;
        }
        let renew_at = self.expiry.map(|expiry| renewal(expiry, now, instant));
        Some(Renewed { renew_at, was_there: true, ..Renewed::once(Some(header)) })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn standing(pairs: &[(&str, &str)]) -> StandingToken {
        let settings = pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        StandingToken::of(&settings).unwrap()
    }

    #[test]
    fn it_is_used_once_and_until_it_expires() {
        let (now, instant) = ("2026-01-01T00:00:00Z".parse().unwrap(), Instant::now());
        let token = standing(&[("access-token", "abc"), ("expiry", "2026-01-01T00:10:00.5Z")]);
        let given = token.take(now, instant).unwrap();
        assert_eq!(given.header.unwrap(), "Bearer abc");
        assert_eq!(given.renew_at.unwrap() - instant, Duration::from_millis(600_500 - 30_000));
        assert!(given.was_there && token.take(now, instant).is_none());
        assert!(
            standing(&[("access-token", "a"), ("expiry", "2025-12-31T23:59:59Z")])
                .take(now, instant)
                .is_none()
        );
        for expiry in ["", "soon"] {
            let given = standing(&[("access-token", "a"), ("expiry", expiry)]).take(now, instant).unwrap();
            assert_eq!(given.renew_at, None);
        }
        assert!(standing(&[("access-token", "")]).take(now, instant).is_none());
        assert!(standing(&[]).take(now, instant).is_none());
        let odd = [("access-token".to_owned(), "a\nb".to_owned())].into();
        assert!(matches!(StandingToken::of(&odd), Err(AuthError::InvalidBearerToken(_))));
    }
}
