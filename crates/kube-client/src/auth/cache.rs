//! When to renew a credential: a pure machine, time is an argument.

use std::sync::Arc;
use std::time::Duration;

use http::HeaderValue;
use jiff::Timestamp;
use tokio::time::Instant;

use crate::config::ClientIdentityPem;

/// A credential as it comes from its source.
#[derive(Clone, Debug)]
pub(super) struct Renewed {
    /// What goes into the `Authorization` header, if anything does.
    pub(super) header: Option<HeaderValue>,
    /// The client certificate to show, if the source gives one.
    pub(super) identity: Option<Arc<ClientIdentityPem>>,
    /// When to ask the source again; `None`: only once the server refuses it.
    pub(super) renew_at: Option<Instant>,
    /// Whether the old one may be used on when the source fails.
    pub(super) outlives_failure: bool,
    /// It stood in the kubeconfig: nothing was done for it yet, so the first refusal is reason enough to ask for another one.
    pub(super) was_there: bool,
}

impl Renewed {
    /// A credential for as long as the server accepts it.
    pub(super) fn once(header: Option<HeaderValue>) -> Self {
        Self { header, identity: None, renew_at: None, outlives_failure: false, was_there: false }
    }
}

/// When to renew what expires at `expiry`, seen from `now`: a little early, since it also has to be valid when it arrives, but never at
/// once, however short it lives.
pub(super) fn renewal(expiry: Timestamp, now: Timestamp, instant: Instant) -> Instant {
    let left = Duration::try_from(expiry.duration_since(now)).unwrap_or(Duration::ZERO);
    instant + left.saturating_sub(EARLY.min(left / 2))
}

const EARLY: Duration = Duration::from_secs(30);

/// The last credential, and whether it will do.
#[derive(Debug, Default)]
pub(super) struct CredentialCache {
    held: Option<Held>,
}

#[derive(Debug)]
struct Held {
    credential: Renewed,
    since: Instant,
    refused: bool,
}

impl CredentialCache {
    /// The credential to use at `now`, unless it has to be renewed first.
    pub(super) fn fresh(&self, now: Instant) -> Option<&Renewed> {
        let held = self.held.as_ref()?;
        let due = held.refused || held.credential.renew_at.is_some_and(|at| now >= at);
        (!due).then_some(&held.credential)
    }

    /// The credential last given, fresh or not.
    pub(super) fn last(&self) -> Option<&Renewed> {
        self.held.as_ref().map(|held| &held.credential)
    }

    /// Takes what the source gave. The same client certificate once more stays the same one.
    pub(super) fn renewed(&mut self, mut credential: Renewed, now: Instant) {
        let last = self.last().and_then(|last| last.identity.clone());
        if last.as_ref().zip(credential.identity.as_ref()).is_some_and(|(last, new)| last.is(new)) {
            credential.identity = last;
        }
        self.held = Some(Held { credential, since: now, refused: false });
    }

    /// The source failed. Gives the old credential to go on with if it still may be used; it is then tried again in a while.
    pub(super) fn source_failed(&mut self, now: Instant) -> Option<&Renewed> {
        let held = self.held.as_mut().filter(|held| held.credential.outlives_failure && !held.refused)?;
        held.credential.renew_at = Some(now + RETRY_SOURCE);
        Some(&held.credential)
    }

    /// The server answered 401 to a request that carried `header`. True if renewing may help: either it is due now or has
    /// happened in the meantime. A credential that is only just renewed is not worth another try.
    pub(super) fn refused(&mut self, header: Option<&HeaderValue>, now: Instant) -> bool {
        let Some(held) = self.held.as_mut() else { return true };
        if held.credential.header.as_ref() != header {
            return true;
        }
        if held.refused {
            return true;
        }
        held.refused =
            held.credential.was_there || now.saturating_duration_since(held.since) >= MIN_AGE_TO_RENEW;
        held.refused
    }
}

/// Pause before a source that failed is asked again.
const RETRY_SOURCE: Duration = Duration::from_secs(10);

/// Without it, every request to a server that refuses us would run the credential program once more.
const MIN_AGE_TO_RENEW: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;

    fn credential(text: &'static str, renew_at: Option<Instant>) -> Renewed {
        Renewed { renew_at, outlives_failure: true, ..Renewed::once(header(text)) }
    }

    fn header(text: &'static str) -> Option<HeaderValue> {
        Some(HeaderValue::from_static(text))
    }

    #[test]
    fn it_is_fresh_until_its_time_comes() {
        let start = Instant::now();
        let mut cache = CredentialCache::default();
        assert!(cache.fresh(start).is_none());
        cache.renewed(credential("a", Some(start + Duration::from_secs(60))), start);
        assert!(cache.fresh(start + Duration::from_secs(59)).is_some());
        assert!(cache.fresh(start + Duration::from_secs(60)).is_none());
        cache.renewed(credential("b", None), start);
        assert!(cache.fresh(start + Duration::from_secs(1_000_000)).is_some());
    }

    #[test]
    fn a_refused_credential_is_renewed_unless_it_is_brand_new() {
        let start = Instant::now();
        let mut cache = CredentialCache::default();
        cache.renewed(credential("a", None), start);
        assert!(!cache.refused(header("a").as_ref(), start + Duration::from_secs(1)));
        assert!(cache.fresh(start + Duration::from_secs(1)).is_some());
        assert!(cache.refused(header("a").as_ref(), start + Duration::from_secs(10)));
        assert!(cache.fresh(start + Duration::from_secs(10)).is_none());
    }

    #[test]
    fn one_that_stood_in_the_kubeconfig_is_renewed_at_its_first_refusal() {
        let start = Instant::now();
        let mut cache = CredentialCache::default();
        cache.renewed(Renewed { was_there: true, ..credential("a", None) }, start);
        assert!(cache.refused(header("a").as_ref(), start) && cache.fresh(start).is_none());
        cache.renewed(credential("b", None), start);
        assert!(!cache.refused(header("b").as_ref(), start));
    }

    #[test]
    fn a_refusal_of_the_one_before_is_worth_a_retry_and_keeps_the_new_one() {
        let start = Instant::now();
        let mut cache = CredentialCache::default();
        cache.renewed(credential("new", None), start);
        assert!(cache.refused(header("old").as_ref(), start + Duration::from_secs(10)));
        assert!(cache.fresh(start + Duration::from_secs(10)).is_some());
    }

    #[test]
    fn a_failing_source_leaves_the_old_one_in_use_for_a_while() {
        let start = Instant::now();
        let mut cache = CredentialCache::default();
        assert!(cache.source_failed(start).is_none());
        cache.renewed(credential("a", Some(start)), start);
        assert!(cache.source_failed(start).is_some());
        assert!(cache.fresh(start + Duration::from_secs(9)).is_some());
        assert!(cache.fresh(start + Duration::from_secs(10)).is_none());
        cache.refused(header("a").as_ref(), start + Duration::from_secs(10));
        assert!(cache.source_failed(start + Duration::from_secs(10)).is_none());
    }
}
