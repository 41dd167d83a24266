//! What a watch does at one time, as data.

use super::{registry::RegisteredWatch, watch_status::WatchState};
use serde::{Serialize, Serializer};
use std::time::Duration;
use tokio::time::Instant;

/// What one watch does at one time: in a [`Snapshot`](crate::controller::Snapshot), or from
/// [`WatchMonitor::snapshot`](super::WatchMonitor::snapshot).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct WatchSnapshot {
    /// The kind of the watched objects.
    pub kind: String,
    /// The watched namespace; `None` for all, and for cluster-scoped kinds.
    pub namespace: Option<String>,
    /// How long ago it was made.
    #[serde(rename = "age_seconds", serialize_with = "seconds")]
    pub age: Duration,
    /// What it does.
    pub state: WatchState,
    /// Whether its first list is complete.
    pub synced: bool,
    /// The number of objects that the server has, as far as the watch has received them.
    pub objects: usize,
    /// The number of watch requests after the first one.
    pub restarts: u64,
    /// The number of lists after the first one.
    pub relists: u64,
    /// The received bytes of its lists and watches, after decompression.
    pub received_bytes: u64,
    /// How long ago the server sent anything but an error: an object, an event, a bookmark, or the head of a response.
    #[serde(rename = "last_event_age_seconds", serialize_with = "optional_seconds")]
    pub last_event_age: Option<Duration>,
    /// The last error, which may be over: compare [`state`](Self::state).
    pub last_error: Option<String>,
    /// How long ago it was.
    #[serde(rename = "last_error_age_seconds", serialize_with = "optional_seconds")]
    pub last_error_age: Option<Duration>,
}

impl WatchSnapshot {
    pub(crate) fn of(watch: &RegisteredWatch, now: Instant) -> Self {
        let facts = watch.status();
        let age = |at: Instant| now.saturating_duration_since(at);
        let (last_error_at, last_error) = facts.last_error.unzip();
        Self {
            kind: watch.kind.clone(),
            namespace: watch.namespace.clone(),
            age: age(facts.since),
            state: facts.state,
            synced: facts.synced,
            objects: facts.objects,
            restarts: facts.watches.saturating_sub(1),
            relists: facts.lists.saturating_sub(1),
            received_bytes: facts.bytes,
            last_event_age: facts.received.map(age),
            last_error,
            last_error_age: last_error_at.map(age),
        }
    }
}

pub(crate) fn seconds<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(duration.as_secs_f64())
}

pub(crate) fn optional_seconds<S: Serializer>(
    duration: &Option<Duration>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    duration.map(|duration| duration.as_secs_f64()).serialize(serializer)
}
