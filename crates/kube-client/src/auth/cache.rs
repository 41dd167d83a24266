//! When to refresh a credential, without I/O: the time is an argument.

use std::sync::Arc;
use std::time::Duration;

use http::HeaderValue;
use jiff::Timestamp;
use tokio::time::Instant;

use crate::config::ClientIdentityPem;

/// A credential as its source returns it.
#[derive(Clone, Debug)]
pub(super) struct FetchedCredential {
    /// The value of the `Authorization` header, if there is one.
    pub(super) header: Option<HeaderValue>,
    /// The client certificate, if there is one.
    pub(super) identity: Option<Arc<ClientIdentityPem>>,
    /// When to refresh it; `None`: only after the server has refused it.
    pub(super) refresh_at: Option<Instant>,
    /// How long it stays in use while refreshes fail.
    pub(super) usable: Usable,
    /// It comes from the kubeconfig and may be old, so its first refusal leads to a refresh.
    pub(super) from_kubeconfig: bool,
}

impl FetchedCredential {
    /// A credential that is used until the server refuses it.
    pub(super) fn until_refused(header: Option<HeaderValue>) -> Self {
        Self {
            header,
            identity: None,
            refresh_at: None,
            usable: Usable::UntilRefresh,
            from_kubeconfig: false,
        }
    }

    /// It expires then, if the source says so. It is refreshed [`EARLY`] before, since it must still be valid when the server receives it,
    /// but after half of the remaining time at the earliest. While that fails it is used until it expires, as client-go does.
    pub(super) fn expires(self, expiry: Option<Timestamp>, now: Timestamp, instant: Instant) -> Self {
        let Some(expiry) = expiry else { return self };
        let left = Duration::try_from(expiry.duration_since(now)).unwrap_or(Duration::ZERO);
        let refresh_at = instant + left.saturating_sub(EARLY.min(left / 2));
        Self { refresh_at: Some(refresh_at), usable: Usable::Until(instant + left), ..self }
    }
}

/// How long a credential stays in use while refreshes fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Usable {
    /// Not at all.
    UntilRefresh,
    /// Until it expires.
    Until(Instant),
    /// For as long as they fail.
    Always,
}

const EARLY: Duration = Duration::from_secs(30);

/// The last credential, and whether it is fresh.
#[derive(Debug, Default)]
pub(super) struct CredentialCache {
    cached: Option<Cached>,
}

#[derive(Debug)]
struct Cached {
    credential: FetchedCredential,
    since: Instant,
    refused: bool,
}

impl CredentialCache {
    /// The credential at `now`, unless it must be refreshed first.
    pub(super) fn fresh(&self, now: Instant) -> Option<&FetchedCredential> {
        let cached = self.cached.as_ref()?;
        let due = cached.refused || cached.credential.refresh_at.is_some_and(|at| now >= at);
        (!due).then_some(&cached.credential)
    }

    /// The last credential, fresh or not.
    pub(super) fn last(&self) -> Option<&FetchedCredential> {
        self.cached.as_ref().map(|cached| &cached.credential)
    }

    /// Stores a fetched credential. An unchanged client certificate keeps its `Arc`.
    pub(super) fn update(&mut self, mut credential: FetchedCredential, now: Instant) {
        let last = self.last().and_then(|last| last.identity.clone());
        if last.as_ref().zip(credential.identity.as_ref()).is_some_and(|(last, new)| last.is(new)) {
            credential.identity = last;
        }
        self.cached = Some(Cached { credential, since: now, refused: false });
    }

    /// Records a failed refresh. Returns the old credential if it may still be used; the next refresh is then after [`RETRY_DELAY`], or
    /// when it expires.
    pub(super) fn on_source_failure(&mut self, now: Instant) -> Option<&FetchedCredential> {
        let credential = &mut self.cached.as_mut().filter(|cached| !cached.refused)?.credential;
        let retry = now + RETRY_DELAY;
        credential.refresh_at = Some(match credential.usable {
            Usable::Always => retry,
            Usable::Until(expiry) if now < expiry => retry.min(expiry),
            Usable::Until(_) | Usable::UntilRefresh => return None,
        });
        Some(credential)
    }

    /// Records a 401 for a request with `header`. True if a retry may succeed: a refresh is now due, or has happened meanwhile. A
    /// credential younger than [`MIN_AGE_TO_REFRESH`] is not refreshed.
    pub(super) fn refused(&mut self, header: Option<&HeaderValue>, now: Instant) -> bool {
        let Some(cached) = self.cached.as_mut() else { return true };
        if cached.credential.header.as_ref() != header {
            return true;
        }
        if cached.refused {
            return true;
        }
        cached.refused = cached.credential.from_kubeconfig
            || now.saturating_duration_since(cached.since) >= MIN_AGE_TO_REFRESH;
        cached.refused
    }
}

/// The pause after a failed refresh.
const RETRY_DELAY: Duration = Duration::from_secs(10);

/// Without it, every request to a server that refuses all credentials would run the exec plugin.
const MIN_AGE_TO_REFRESH: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;

    fn credential(text: &'static str, refresh_at: Option<Instant>) -> FetchedCredential {
        FetchedCredential {
            refresh_at,
            usable: Usable::Always,
            ..FetchedCredential::until_refused(header(text))
        }
    }

    fn header(text: &'static str) -> Option<HeaderValue> {
        Some(HeaderValue::from_static(text))
    }

    #[test]
    fn a_credential_is_fresh_until_its_refresh_time() {
        let start = Instant::now();
        let mut cache = CredentialCache::default();
        assert!(cache.fresh(start).is_none());
        cache.update(credential("a", Some(start + Duration::from_secs(60))), start);
        assert!(cache.fresh(start + Duration::from_secs(59)).is_some());
        assert!(cache.fresh(start + Duration::from_secs(60)).is_none());
        cache.update(credential("b", None), start);
        assert!(cache.fresh(start + Duration::from_secs(1_000_000)).is_some());
    }

    #[test]
    fn a_refused_credential_is_refreshed_unless_it_is_new() {
        let start = Instant::now();
        let mut cache = CredentialCache::default();
        cache.update(credential("a", None), start);
        assert!(!cache.refused(header("a").as_ref(), start + Duration::from_secs(1)));
        assert!(cache.fresh(start + Duration::from_secs(1)).is_some());
        assert!(cache.refused(header("a").as_ref(), start + Duration::from_secs(10)));
        assert!(cache.fresh(start + Duration::from_secs(10)).is_none());
    }

    #[test]
    fn a_credential_of_the_kubeconfig_is_refreshed_at_its_first_refusal() {
        let start = Instant::now();
        let mut cache = CredentialCache::default();
        cache.update(FetchedCredential { from_kubeconfig: true, ..credential("a", None) }, start);
        assert!(cache.refused(header("a").as_ref(), start) && cache.fresh(start).is_none());
        cache.update(credential("b", None), start);
        assert!(!cache.refused(header("b").as_ref(), start));
    }

    #[test]
    fn a_refusal_of_the_previous_credential_allows_a_retry_with_the_new_one() {
        let start = Instant::now();
        let mut cache = CredentialCache::default();
        cache.update(credential("new", None), start);
        assert!(cache.refused(header("old").as_ref(), start + Duration::from_secs(10)));
        assert!(cache.fresh(start + Duration::from_secs(10)).is_some());
    }

    #[test]
    fn the_old_credential_stays_in_use_while_a_refresh_fails() {
        let start = Instant::now();
        let mut cache = CredentialCache::default();
        assert!(cache.on_source_failure(start).is_none());
        cache.update(credential("a", Some(start)), start);
        assert!(cache.on_source_failure(start).is_some());
        assert!(cache.fresh(start + Duration::from_secs(9)).is_some());
        assert!(cache.fresh(start + Duration::from_secs(10)).is_none());
        cache.refused(header("a").as_ref(), start + Duration::from_secs(10));
        assert!(cache.on_source_failure(start + Duration::from_secs(10)).is_none());
    }

    #[test]
    fn a_credential_that_expires_stays_in_use_until_then_while_a_refresh_fails() {
        let (start, now) = (Instant::now(), Timestamp::UNIX_EPOCH);
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut cache = CredentialCache::default();
        let expiry = Some(Timestamp::from_second(3600).unwrap());
        cache.update(FetchedCredential::until_refused(header("a")).expires(expiry, now, start), start);
        assert!(cache.fresh(at(3569)).is_some() && cache.fresh(at(3570)).is_none());
        assert!(cache.on_source_failure(at(3570)).is_some());
        assert!(cache.fresh(at(3579)).is_some() && cache.fresh(at(3580)).is_none());
        assert!(cache.on_source_failure(at(3595)).is_some());
        assert!(cache.fresh(at(3599)).is_some() && cache.fresh(at(3600)).is_none(), "it has expired");
        assert!(cache.on_source_failure(at(3600)).is_none());
        cache.update(FetchedCredential::until_refused(header("b")).expires(expiry, now, start), start);
        assert!(cache.refused(header("b").as_ref(), at(100)));
        assert!(cache.on_source_failure(at(100)).is_none(), "the server has refused it");
    }
}
