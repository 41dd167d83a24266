//! What a controller does at one time, as data.

use super::{
    failures::{CAPACITY, Failure, UNDECODABLE},
    lanes::LaneSnapshot,
    state::{ControllerState, Observation, Running, Totals},
};
use crate::{
    queue::QueueNumbers,
    reflector::ObjectKey,
    watcher::{RegisteredWatch, Undecodable, WatchSnapshot, optional_seconds, seconds},
};
use serde::Serialize;
use std::{sync::Arc, time::Duration};
use tokio::time::Instant;

/// How many running reconciles a snapshot shows.
const MAX_RUNNING: usize = 100;

/// What a controller does at one time: see [`Monitor::snapshot`](super::Monitor::snapshot).
///
/// Serialized, durations are seconds, as numbers with fractions.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Snapshot {
    /// The name of the controller: see [`Config::name`](crate::Config::name).
    pub name: String,
    /// The kind of the objects that it reconciles.
    pub kind: String,
    /// What it does.
    pub state: ControllerState,
    /// Whether the first lists of all watches are complete: see [`Monitor::is_synced`](super::Monitor::is_synced).
    pub synced: bool,
    /// The number of objects in its store.
    pub objects: usize,
    /// The objects that wait.
    pub queue: QueueSnapshot,
    /// The lanes of a [fair](crate::Config::fair_by) queue in which most objects are due, the deepest first; at most 20.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lanes: Vec<LaneSnapshot>,
    /// The maximum of concurrent reconciles, if it is limited.
    pub max_concurrent: Option<u16>,
    /// The number of running reconciles.
    pub active: usize,
    /// The running reconciles, the longest first; at most 100.
    pub running: Vec<RunningObject>,
    /// The objects that still exist and whose last reconcile failed or whose last state cannot be decoded, related objects included, the
    /// latest failure first; at most 32.
    pub failing: Vec<FailingObject>,
    /// The watches that the controller made. Streams made by the program are not known.
    pub watches: Vec<WatchSnapshot>,
    /// Counts since the start.
    pub totals: Totals,
}

/// The objects that wait for a reconcile.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct QueueSnapshot {
    /// How many are due because something changed.
    pub changes: usize,
    /// How many are due in the background: from a list or a requeue.
    pub background: usize,
    /// How many are to be reconciled later: requeued, retried or debounced.
    pub delayed: usize,
    /// The number of lanes of a [fair](crate::Config::fair_by) queue with objects that wait or run.
    #[serde(skip_serializing_if = "is_zero")]
    pub lanes: usize,
    /// How long the first object has been due that waits for a worker.
    #[serde(rename = "oldest_due_seconds", serialize_with = "optional_seconds")]
    pub oldest_due: Option<Duration>,
}

/// A running reconcile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RunningObject {
    /// The namespace of the object; `None` if it is cluster-scoped.
    pub namespace: Option<String>,
    /// The name of the object.
    pub name: String,
    /// Why it is reconciled.
    pub reason: String,
    /// 1, and one more for each [retry](crate::controller::Action::retry) in a row before it.
    pub attempt: u32,
    /// How long the object was due before it was started.
    #[serde(rename = "waited_seconds", serialize_with = "seconds")]
    pub waited: Duration,
    /// How long it has been running.
    #[serde(rename = "elapsed_seconds", serialize_with = "seconds")]
    pub elapsed: Duration,
}

/// An object whose last reconcile failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct FailingObject {
    /// The namespace of the object; `None` if it is cluster-scoped.
    pub namespace: Option<String>,
    /// The name of the object.
    pub name: String,
    /// `error`, `panic`, `timeout` or `undecodable`.
    pub outcome: &'static str,
    /// The message of the error with its causes, cut after 2 KiB.
    pub message: String,
    /// Which attempt failed: see [`RunningObject::attempt`]. 0 for an object that cannot be decoded.
    pub attempt: u32,
    /// How long ago it failed.
    #[serde(rename = "age_seconds", serialize_with = "seconds")]
    pub age: Duration,
    /// How long until it is reconciled again, if nothing changes before; zero if it is due. `None` if only a change leads to the next
    /// reconcile, or it runs now.
    #[serde(rename = "next_retry_seconds", serialize_with = "optional_seconds")]
    pub next_retry: Option<Duration>,
}

impl Snapshot {
    pub(super) fn of(observation: &Observation, now: Instant) -> Self {
        let watches: Vec<_> =
            observation.watches.watches().iter().map(|watch| WatchSnapshot::of(watch, now)).collect();
        let facts = observation.facts.lock();
        let running: Vec<_> =
            facts.running.iter().map(|(key, running)| (Arc::clone(key), Arc::clone(running))).collect();
        let (mut failing, cache) = (facts.failures.latest_first(), facts.cache.clone());
        for (key, failure) in &mut failing {
            failure.retry_at = failure.retry_at.filter(|_| !facts.running.contains_key(key));
        }
        let (name, state, totals, queue) = (facts.name.to_string(), facts.state, facts.totals, facts.queue);
        let lanes = facts.lanes.shown.iter().map(|lane| LaneSnapshot::of(lane, now)).collect();
        let max_concurrent = Some(facts.max_concurrent).filter(|limit| *limit > 0);
        drop(facts);
        if let Some(cache) = &cache {
            failing.retain(|(key, failure)| cache.may_have(key, failure.uid.as_deref()));
        }
        let failing = failing.into_iter().map(|(key, failure)| FailingObject::of(&key, failure, now));
        let watched = observation.watches.watches();
        let undecodable = watched.iter().flat_map(|watch| FailingObject::undecodable(watch, now));
        let mut failing: Vec<_> = failing.chain(undecodable).collect();
        failing.sort_by(|one, other| {
            let order = |it: &FailingObject| (it.age, it.namespace.clone(), it.name.clone());
            order(one).cmp(&order(other))
        });
        failing.truncate(CAPACITY);
        let synced = state != ControllerState::Stopped
            && cache.as_ref().is_some_and(|cache| cache.is_ready())
            && watches.iter().all(|watch| watch.synced);
        Self {
            name,
            kind: observation.kind.clone(),
            state,
            synced,
            objects: cache.map_or(0, |cache| cache.objects()),
            queue: QueueSnapshot::of(queue, now),
            lanes,
            max_concurrent,
            active: running.len(),
            running: longest(running, now),
            failing,
            watches,
            totals,
        }
    }
}

impl QueueSnapshot {
    fn of(numbers: QueueNumbers, now: Instant) -> Self {
        let QueueNumbers { changes, background, delayed, oldest_due, lanes, .. } = numbers;
        let oldest_due = oldest_due.filter(|due| *due <= now).map(|due| now - due);
        Self { changes, background, delayed, lanes, oldest_due }
    }
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// The reconciles that have been running longest.
fn longest(mut running: Vec<(Arc<ObjectKey>, Arc<Running>)>, now: Instant) -> Vec<RunningObject> {
    let by_start = |(key, running): &(Arc<ObjectKey>, Arc<Running>),
                    (other, later): &(Arc<ObjectKey>, Arc<Running>)| {
        running.started.cmp(&later.started).then_with(|| key.cmp(other))
    };
    if running.len() > MAX_RUNNING {
        running.select_nth_unstable_by(MAX_RUNNING, by_start);
        running.truncate(MAX_RUNNING);
    }
    running.sort_unstable_by(by_start);
    running.into_iter().map(|(key, running)| RunningObject::of(&key, &running, now)).collect()
}

impl RunningObject {
    pub(super) fn of(key: &ObjectKey, running: &Running, now: Instant) -> Self {
        Self {
            namespace: key.namespace.as_deref().map(str::to_owned),
            name: key.name.to_string(),
            reason: running.reason.to_string(),
            attempt: running.attempt,
            waited: running.waited,
            elapsed: now.saturating_duration_since(running.started),
        }
    }
}

impl FailingObject {
    fn of(key: &ObjectKey, failure: Failure, now: Instant) -> Self {
        Self {
            namespace: key.namespace.as_deref().map(str::to_owned),
            name: key.name.to_string(),
            outcome: failure.outcome,
            message: failure.message,
            attempt: failure.attempt,
            age: now.saturating_duration_since(failure.at),
            next_retry: failure.retry_at.map(|retry_at| retry_at.saturating_duration_since(now)),
        }
    }
}

impl FailingObject {
    /// The objects that a watch cannot decode. The kind is in the message.
    fn undecodable(watch: &RegisteredWatch, now: Instant) -> Vec<Self> {
        let failing = |object: Undecodable| Self {
            namespace: object.namespace.map(Into::into),
            name: object.name.into(),
            outcome: UNDECODABLE,
            message: format!("the {} cannot be decoded: {}", watch.kind, object.error),
            attempt: 0,
            age: now.saturating_duration_since(object.at),
            next_retry: None,
        };
        watch.undecodable().into_iter().map(failing).collect()
    }
}
