//! What a reconciler wants to happen next.

use super::pending_writes::WriteVersion;
use kube_core::Resource;
use std::time::Duration;

/// When to reconcile an object again, as far as its reconciler knows.
///
/// Changes of the object and of what it depends on make it run again in any case. Actions are equal if they say the
/// same time; [writes](Self::after_write) do not count.
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
    again: Again,
    written: Option<Box<WriteVersion>>,
}

/// What an action says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Again {
    OnChange,
    After(Duration),
    BackingOff,
}

impl Action {
    /// Reconcile again after `duration`, or sooner if something changes.
    ///
    /// Use it where the reconciler depends on what nobody watches. The time counts from the end of the reconcile.
    #[must_use]
    pub const fn requeue(duration: Duration) -> Self {
        Self::new(Again::After(duration))
    }

    /// Reconcile again when something changes.
    #[must_use]
    pub const fn await_change() -> Self {
        Self::new(Again::OnChange)
    }

    /// Reconcile again after a time that doubles with each retry of the same object, or sooner if something changes.
    ///
    /// What an error policy usually wants. The times are those of [`Config::backoff`](super::Config::backoff), and
    /// start over after any other action.
    #[must_use]
    pub const fn retry() -> Self {
        Self::new(Again::BackingOff)
    }

    /// Makes the next reconcile of the object wait until the controller's store shows `written`, or something newer.
    ///
    /// `written` is the object itself as a write of the reconciler returned it; of several writes, the last.
    /// Whatever asks for the object meanwhile waits with it, so that no reconcile acts on a state from before one's own
    /// write: creates twice what it has just noted as created, say. Other objects do not wait. The wait ends
    /// after [`Config::write_wait`](super::Config::write_wait) even if the store does not get there.
    ///
    /// Where the object had been deleted, and the write made it anew or met one made anew, that one is waited for. An object of
    /// another group, kind or name is no reason to wait: it is ignored, with a warning in the log. The kind of a
    /// [`DynamicObject`](kube_core::DynamicObject) is the one it carries.
    ///
    /// [`finalizer`](fn@crate::finalizer) does this for the finalizers that it adds and removes. Where a reconciler needs
    /// to see its write before it returns, there is [`Store::wait_for`](crate::reflector::Store::wait_for).
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
        Self { written: WriteVersion::of(written).map(Box::new), ..self }
    }

    /// The same for the end of `object`.
    pub(crate) fn after_end_of<K: Resource>(self, object: &K) -> Self {
        Self { written: Some(Box::new(WriteVersion::gone(object))), ..self }
    }

    const fn new(again: Again) -> Self {
        Self { again, written: None }
    }

    pub(super) const fn again(&self) -> Again {
        self.again
    }

    pub(super) fn written(&self) -> Option<&WriteVersion> {
        self.written.as_deref()
    }
}

impl PartialEq for Action {
    fn eq(&self, other: &Self) -> bool {
        self.again == other.again
    }
}

impl Eq for Action {}
