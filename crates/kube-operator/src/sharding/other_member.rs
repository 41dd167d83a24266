//! The Lease of another member, and the view that it publishes there.

use super::rendezvous::View;
use k8s_openapi::api::coordination::v1::Lease;
use std::{sync::Arc, time::Duration};
use tokio::time::Instant;

/// The annotation with the published view: the identities of its members, separated by commas.
pub(super) const VIEW_ANNOTATION: &str = "sharding-view";

/// The Lease of another member as this one last saw it.
#[derive(Debug)]
pub(super) struct OtherMember {
    pub(super) lease: Lease,
    pub(super) identity: Arc<str>,
    pub(super) view: View,
    /// When this content was first seen: other clocks play no part.
    pub(super) since: Instant,
    pub(super) expires: Instant,
    /// Whether its member claims what it owns in `view`.
    pub(super) live: bool,
}

impl OtherMember {
    pub(super) fn new(lease: Lease, since: Instant, default_duration: Duration) -> Self {
        let spec = lease.spec.as_ref();
        let seconds =
            spec.and_then(|spec| spec.lease_duration_seconds).and_then(|seconds| u64::try_from(seconds).ok());
        let duration = seconds.filter(|seconds| *seconds > 0).map_or(default_duration, Duration::from_secs);
        Self {
            identity: spec.and_then(|spec| spec.holder_identity.as_deref()).unwrap_or_default().into(),
            view: view_of(&lease),
            since,
            expires: since + duration,
            live: true,
            lease,
        }
    }

    pub(super) fn is_released(&self) -> bool {
        self.identity.is_empty()
    }
}

/// The view that `lease` publishes.
pub(super) fn view_of(lease: &Lease) -> View {
    let annotation =
        lease.metadata.annotations.as_ref().and_then(|annotations| annotations.get(VIEW_ANNOTATION));
    annotation.map(String::as_str).unwrap_or_default().split(',').filter(|name| !name.is_empty()).collect()
}
