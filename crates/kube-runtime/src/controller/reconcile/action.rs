//! The result of a reconcile: when to reconcile the object again.

use super::pending_writes::WriteVersion;
use kube_core::Resource;
use std::time::Duration;

/// When to reconcile an object again, in addition to changes.
///
/// A change of the object, or of a related object, triggers a reconcile in any case. Actions are equal if they requeue
/// equally; [writes](Self::after_write) are not compared.
///
/// ```
/// use kube_runtime::controller::Action;
/// use std::time::Duration;
///
/// fn next(is_ready: bool) -> Action {
///     if is_ready { Action::await_change() } else { Action::requeue(Duration::from_secs(5)) }
/// }
/// assert_eq!(next(true), Action::await_change());
/// assert_ne!(next(false), Action::retry());
/// ```
#[derive(Debug, Clone)]
pub struct Action {
    requeue: Requeue,
    write: Option<Box<WriteVersion>>,
    /// Whether the event of the write has to trigger the next reconcile, also if own writes trigger nothing.
    continues: bool,
}

/// When an action requeues the object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Requeue {
    Never,
    After(Duration),
    WithBackoff,
}

impl Action {
    /// Reconcile again after `duration`, or sooner if something changes.
    ///
    /// For reconcilers that depend on state that is not watched. The duration starts at the end of the reconcile.
    #[must_use]
    pub const fn requeue(duration: Duration) -> Self {
        Self::new(Requeue::After(duration))
    }

    /// Reconcile again only when something changes.
    #[must_use]
    pub const fn await_change() -> Self {
        Self::new(Requeue::Never)
    }

    /// Reconcile again after a delay that doubles with each retry of the same object, or sooner if something changes.
    ///
    /// The usual action of an error policy. [`Config::backoff`](crate::Config::backoff) sets the delays; any other action
    /// resets them.
    #[must_use]
    pub const fn retry() -> Self {
        Self::new(Requeue::WithBackoff)
    }

    /// Delays the next reconcile of the object until the controller's store shows `written` or a newer state.
    ///
    /// `written` is the reconciled object as returned by the reconciler's write; after several writes, by the last.
    /// All triggers of the object wait meanwhile, so that no reconcile acts on the state before its predecessor's write, and
    /// for instance creates a child twice. Other objects do not wait. The wait ends after
    /// [`Config::write_wait`](crate::Config::write_wait) even if the store does not show the write by then.
    ///
    /// If the object was deleted and recreated meanwhile, the recreated object that was written is waited for. An object
    /// of another group, kind or name is ignored, with a warning in the log. The kind of a
    /// [`DynamicObject`](kube_core::DynamicObject) is the one in its `types`.
    ///
    /// [`finalizer`](fn@crate::finalizer) does this for the finalizers that it adds and removes. To see a write before the
    /// reconcile returns, use [`Store::wait_for`](crate::reflector::Store::wait_for).
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_client::{Api, Error};
    /// use kube_core::{ResourceExt, params::{Patch, PatchParams}};
    /// use kube_runtime::controller::Action;
    /// use std::sync::Arc;
    ///
    /// async fn reconcile(object: Arc<ConfigMap>, api: Arc<Api<ConfigMap>>) -> Result<Action, Error> {
    ///     let count = object.annotations().get("count").and_then(|count| count.parse().ok()).unwrap_or(0);
    ///     let patch = serde_json::json!({ "metadata": { "annotations": { "count": (count + 1).to_string() } } });
    ///     let written = api.patch(&object.name_any(), &PatchParams::default(), &Patch::Merge(patch)).await?;
    ///     Ok(Action::await_change().after_write(&written))
    /// }
    /// ```
    #[must_use]
    pub fn after_write<K: Resource>(self, written: &K) -> Self {
        Self { write: WriteVersion::of(written).map(Box::new), ..self }
    }

    /// Like [`after_write`](Self::after_write), for the deletion of `object`.
    pub(crate) fn after_deletion_of<K: Resource>(self, object: &K) -> Self {
        Self { write: Some(Box::new(WriteVersion::deleted(object))), ..self }
    }

    /// The reconcile goes on once the store shows the write, even where the event of an own write triggers nothing.
    pub(crate) fn continued(self) -> Self {
        Self { continues: true, ..self }
    }

    pub(crate) const fn continues(&self) -> bool {
        self.continues
    }

    const fn new(requeue: Requeue) -> Self {
        Self { requeue, write: None, continues: false }
    }

    pub(crate) const fn next_run(&self) -> Requeue {
        self.requeue
    }

    pub(crate) fn write(&self) -> Option<&WriteVersion> {
        self.write.as_deref()
    }
}

impl PartialEq for Action {
    fn eq(&self, other: &Self) -> bool {
        self.requeue == other.requeue
    }
}

impl Eq for Action {}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::core::v1::ConfigMap;

    #[test]
    fn an_action_keeps_the_write_that_it_waits_for() {
        let mut written = ConfigMap::default();
        written.metadata.name = Some("a".into());
        written.metadata.uid = Some("u".into());
        written.metadata.resource_version = Some("1".into());
        let plain = Action::requeue(Duration::from_secs(1));
        assert!(plain.write().is_none());
        for delayed in [plain.clone().after_write(&written), plain.clone().after_deletion_of(&written)] {
            assert!(delayed.write().is_some());
            assert_eq!(delayed, plain, "the next run is the same");
        }
    }

    #[test]
    fn actions_are_equal_by_their_next_run() {
        let soon = Action::requeue(Duration::from_secs(1));
        assert_eq!(soon, Action::requeue(Duration::from_secs(1)));
        assert_ne!(soon, Action::requeue(Duration::from_secs(2)));
        assert_ne!(soon, Action::await_change());
    }
}
