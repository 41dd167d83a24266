//! Holding back the reconciles of an object until the store shows what the last one wrote (read your own writes).

use super::request::ReconcileReason;
use crate::{
    capacity::release,
    controller::scope::WritesShown,
    queue::Priority,
    reflector::{ObjectKey, store::Awaited},
};
use futures::{FutureExt as _, StreamExt, future::BoxFuture, stream::FuturesUnordered};
use hashbrown::HashMap;
use kube_core::{ObjectMeta, Resource};
use std::{
    any::Any,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};
use tokio::time::timeout;
use tracing::Span;

/// The state of an object as returned by a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WriteVersion {
    /// `None` if neither the type nor the object has it.
    kind: Option<GroupKind>,
    namespace: Option<String>,
    name: Option<String>,
    uid: Option<String>,
    /// `None` if the write deleted the object.
    resource_version: Option<String>,
}

/// With name and namespace, the identity of an object. The API version is not part of it.
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
        (&() as &dyn Any).downcast_ref().map(Self::of_type::<K>) // static types know their kind
    }
}

impl WriteVersion {
    /// `None` for an object without a resourceVersion, which no server returned.
    pub(crate) fn of<K: Resource>(object: &K) -> Option<Self> {
        let resource_version = object.meta().resource_version.clone()?;
        if is_deleted(object.meta()) {
            return Some(Self::deleted(object)); // older servers return the previous resourceVersion
        }
        Some(Self { resource_version: Some(resource_version), ..Self::deleted(object) })
    }

    /// The deletion of `object`.
    pub(crate) fn deleted<K: Resource>(object: &K) -> Self {
        let meta = object.meta();
        Self {
            kind: GroupKind::of(object),
            namespace: meta.namespace.clone(),
            name: meta.name.clone(),
            uid: meta.uid.clone(),
            resource_version: None,
        }
    }

    /// What the store has to show before `object` is reconciled again. `None` if the write was to an object that is neither
    /// `object` nor recreated in its place.
    pub(crate) fn awaited_after<K: Resource>(&self, object: &K, dyntype: &K::DynamicType) -> Option<Awaited> {
        let meta = object.meta();
        let same_uid = self.uid.is_some() && self.uid == meta.uid;
        let same_object = match &self.kind {
            Some(kind) if *kind != GroupKind::of_type::<K>(dyntype) => false,
            Some(_) => same_uid || (&self.namespace, &self.name) == (&meta.namespace, &meta.name),
            None => same_uid,
        };
        let uid = |uid: &Option<String>| uid.as_deref().map(Into::into);
        same_object.then(|| match &self.resource_version {
            Some(version) => Awaited::State {
                uid: uid(&self.uid),
                version: version.as_str().into(),
                was_visible: same_uid,
            },
            None => Awaited::End { uids: [uid(&self.uid), uid(&meta.uid)].into_iter().flatten().collect() },
        })
    }
}

/// Whether the write that returned this metadata deleted the object: no finalizer and no grace period remains.
fn is_deleted(meta: &ObjectMeta) -> bool {
    meta.deletion_timestamp.is_some()
        && meta.finalizers.iter().flatten().next().is_none()
        && meta.deletion_grace_period_seconds.is_none_or(|seconds| seconds == 0)
}

/// The objects whose last write the store does not show yet, with the requests for them that arrive meanwhile.
///
/// The store wakes the waits; there is no polling. An object without a pending write uses no memory.
pub(crate) struct PendingWrites {
    parked: HashMap<Arc<ObjectKey>, Option<ParkedRequest>>,
    waits: FuturesUnordered<BoxFuture<'static, Arc<ObjectKey>>>,
    max_wait: Duration,
}

/// The merged requests for an object with a pending write.
#[derive(Debug)]
pub(crate) struct ParkedRequest {
    pub(crate) reason: ReconcileReason,
    pub(crate) priority: Priority,
}

impl PendingWrites {
    /// Each wait ends after at most `max_wait`.
    pub(crate) fn new(max_wait: Duration) -> Self {
        Self { parked: HashMap::new(), waits: FuturesUnordered::new(), max_wait }
    }

    /// Parks the requests for `key` until everything is shown.
    pub(crate) fn add(&mut self, key: &Arc<ObjectKey>, mut shown: WritesShown) {
        if shown.is_over() {
            return;
        }
        let (key, max_wait, span) = (Arc::clone(key), self.max_wait, Span::current()); // the span names the object
        self.parked.insert(Arc::clone(&key), None);
        let done = async move {
            if timeout(max_wait, &mut shown).await.is_err() {
                let missing = shown.missing();
                match shown.give_up() {
                    true => {
                        tracing::warn!(parent: &span, waited = ?max_wait, missing, "timed out waiting for the store to show the reconciler's own write");
                    }
                    // Not for each object while a watch does not work.
                    false => {
                        tracing::debug!(parent: &span, waited = ?max_wait, missing, "timed out as before")
                    }
                }
            }
            key
        };
        self.waits.push(done.boxed());
    }

    /// Parks a request if a write to its object is pending. Otherwise returns it.
    pub(crate) fn park(&mut self, key: &ObjectKey, reason: ReconcileReason) -> Option<ReconcileReason> {
        let Some(parked) = self.parked.get_mut(key) else { return Some(reason) };
        let priority = reason.priority();
        match parked {
            Some(parked) => {
                parked.priority = parked.priority.max(priority);
                if parked.reason.is_internal() && !reason.is_internal() {
                    parked.reason = reason; // an external request must survive `retain`
                }
            }
            None => *parked = Some(ParkedRequest { reason, priority }),
        }
        None
    }

    /// Drops the parked requests for which `keep` does not hold. O(n).
    pub(crate) fn retain(&mut self, keep: impl Fn(&ReconcileReason) -> bool) {
        for parked in self.parked.values_mut() {
            *parked = parked.take().filter(|parked| keep(&parked.reason));
        }
    }

    pub(crate) fn has_parked(&self) -> bool {
        self.parked.values().any(Option::is_some)
    }

    /// The next object whose wait has ended, because the store shows the write or the time is over, and its parked request.
    pub(crate) fn poll_visible(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<(Arc<ObjectKey>, Option<ParkedRequest>)> {
        match self.waits.poll_next_unpin(cx) {
            Poll::Ready(Some(key)) => {
                let parked = self.parked.remove(&key).flatten();
                release(&mut self.parked);
                Poll::Ready((key, parked))
            }
            Poll::Ready(None) | Poll::Pending => Poll::Pending,
        }
    }
}

#[cfg(test)]
#[path = "pending_writes_tests.rs"]
mod tests;
