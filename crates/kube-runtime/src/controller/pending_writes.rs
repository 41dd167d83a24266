//! Not reconciling an object before the store shows what the last reconcile wrote.

use super::request::ReconcileReason;
use crate::{
    queue::Urgency,
    reflector::{
        ObjectKey,
        store::{Awaited, Waiting},
    },
};
use ahash::AHashMap;
use futures::{FutureExt, StreamExt, future::BoxFuture, stream::FuturesUnordered};
use kube_core::{ObjectMeta, Resource};
use std::{
    any::Any,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};
use tokio::time::timeout;

/// A state of an object, as a write returned it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WriteVersion {
    /// `None` where neither the type nor the object says it.
    kind: Option<GroupKind>,
    namespace: Option<String>,
    name: Option<String>,
    uid: Option<String>,
    /// `None`: there is no such object any more.
    version: Option<String>,
}

/// What tells objects of one name and namespace apart. The version of the API does not.
#[derive(Debug, Clone, PartialEq, Eq)]
struct GroupKind {
    group: String,
    kind: String,
}

impl GroupKind {
    fn of_type<K: Resource>(dyntype: &K::DynamicType) -> Self {
        Self { group: K::group(dyntype).into_owned(), kind: K::kind(dyntype).into_owned() }
    }

    fn of<K: Resource>(object: &K) -> Option<Self> {
        if let Some((api_version, kind)) = object.api_version_and_kind() {
            let group = api_version.rsplit_once('/').map_or("", |(group, _version)| group);
            return Some(Self { group: group.to_owned(), kind: kind.to_owned() });
        }
        (&() as &dyn Any).downcast_ref().map(Self::of_type::<K>) // types that say their kind themselves
    }
}

impl WriteVersion {
    /// `None` for what no server returned.
    pub(super) fn of<K: Resource>(object: &K) -> Option<Self> {
        let version = object.meta().resource_version.clone()?;
        if is_final(object.meta()) {
            return Some(Self::gone(object)); // older servers answer with the version of before
        }
        Some(Self { version: Some(version), ..Self::gone(object) })
    }

    /// That `object` is no more.
    pub(super) fn gone<K: Resource>(object: &K) -> Self {
        let meta = object.meta();
        Self {
            kind: GroupKind::of(object),
            namespace: meta.namespace.clone(),
            name: meta.name.clone(),
            uid: meta.uid.clone(),
            version: None,
        }
    }

    /// What the store has to show before `object` is reconciled again. `None` if this is a write to another object: neither the
    /// same, nor one that has taken its place.
    pub(super) fn awaited_after<K: Resource>(&self, object: &K, dyntype: &K::DynamicType) -> Option<Awaited> {
        let meta = object.meta();
        let same_uid = self.uid.is_some() && self.uid == meta.uid;
        let is_it = match &self.kind {
            Some(kind) if *kind != GroupKind::of_type::<K>(dyntype) => false,
            Some(_) => same_uid || (&self.namespace, &self.name) == (&meta.namespace, &meta.name),
            None => same_uid,
        };
        let uid = |uid: &Option<String>| uid.as_deref().map(Into::into);
        is_it.then(|| match &self.version {
            Some(version) => Awaited::State {
                uid: uid(&self.uid),
                version: version.as_str().into(),
                was_visible: same_uid,
            },
            None => Awaited::End { uids: [uid(&self.uid), uid(&meta.uid)].into_iter().flatten().collect() },
        })
    }
}

/// Whether a write that leaves an object like this is its end: nothing holds it any more.
fn is_final(meta: &ObjectMeta) -> bool {
    meta.deletion_timestamp.is_some()
        && meta.finalizers.iter().flatten().next().is_none()
        && meta.deletion_grace_period_seconds.is_none_or(|seconds| seconds == 0)
}

/// The objects whose last write the store does not show yet, and what asks for them meanwhile. The store wakes what waits; nothing
/// is polled.
///
/// An object without such a write costs nothing.
pub(super) struct PendingWrites {
    parked: AHashMap<Arc<ObjectKey>, Option<Parked>>,
    waits: FuturesUnordered<BoxFuture<'static, Arc<ObjectKey>>>,
    longest: Duration,
}

/// What asked for an object whose write is pending.
#[derive(Debug)]
pub(super) struct Parked {
    pub(super) reason: ReconcileReason,
    pub(super) urgency: Urgency,
}

impl PendingWrites {
    /// Waits are given up after `longest`.
    pub(super) fn new(longest: Duration) -> Self {
        Self { parked: AHashMap::new(), waits: FuturesUnordered::new(), longest }
    }

    /// Whether writes are waited for at all.
    pub(super) fn is_enabled(&self) -> bool {
        !self.longest.is_zero()
    }

    /// From now on requests for `key` are parked until `wait` is over.
    pub(super) fn expect(&mut self, key: &Arc<ObjectKey>, wait: Waiting) {
        if wait.is_over() {
            return;
        }
        let (key, longest) = (Arc::clone(key), self.longest);
        self.parked.insert(Arc::clone(&key), None);
        let done = timeout(longest, wait).map(move |outcome| {
            if outcome.is_err() {
                tracing::warn!(object = %key.name, waited = ?longest, "the store does not show the reconciler's own write");
            }
            key
        });
        self.waits.push(done.boxed());
    }

    /// Keeps a request if a write to its object is pending. Otherwise it is returned.
    pub(super) fn park(&mut self, key: &ObjectKey, reason: ReconcileReason) -> Option<ReconcileReason> {
        let Some(parked) = self.parked.get_mut(key) else { return Some(reason) };
        let urgency = reason.urgency();
        match parked {
            Some(parked) => {
                parked.urgency = parked.urgency.max(urgency);
                if parked.reason.is_own() && !reason.is_own() {
                    parked.reason = reason; // what others ask for is never given up
                }
            }
            None => *parked = Some(Parked { reason, urgency }),
        }
        None
    }

    /// Forgets the requests for which `keep` does not hold. O(n).
    pub(super) fn retain(&mut self, keep: impl Fn(&ReconcileReason) -> bool) {
        for parked in self.parked.values_mut() {
            *parked = parked.take().filter(|parked| keep(&parked.reason));
        }
    }

    pub(super) fn has_parked(&self) -> bool {
        self.parked.values().any(Option::is_some)
    }

    /// The next object whose write the store shows, or does not show in time, and what has asked for it.
    pub(super) fn poll_visible(&mut self, cx: &mut Context<'_>) -> Poll<(Arc<ObjectKey>, Option<Parked>)> {
        match self.waits.poll_next_unpin(cx) {
            Poll::Ready(Some(key)) => {
                let parked = self.parked.remove(&key).flatten();
                Poll::Ready((key, parked))
            }
            Poll::Ready(None) | Poll::Pending => Poll::Pending,
        }
    }
}

#[cfg(test)]
#[path = "pending_writes_tests.rs"]
mod tests;
