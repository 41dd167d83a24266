//! What a source emits: triggers. They name objects by their keys, so that queue and runner do not depend on the kind.

use crate::{
    controller::{
        reconcile::{ReconcileReason, ReconcileRequest},
        scope::ShownState,
    },
    queue::Priority,
    reflector::{ObjectKey, ObjectRef},
    watcher,
};
use futures::stream::BoxStream;
use kube_core::{DynamicObject, Resource};
use std::time::Duration;

/// The triggers of one source, or of all.
pub(super) type TriggerStream = BoxStream<'static, watcher::ErasedResult<Trigger>>;

/// An item of a source of a controller.
pub(crate) enum Trigger {
    /// Reconcile one object.
    Object {
        key: ObjectKey,
        reason: ReconcileReason,
        priority: Priority,
        /// The change that the trigger is about, if own changes are to be skipped and it may be one.
        shows: Option<Box<ShownState>>,
    },
    /// Reconcile all objects.
    All,
    /// A list of related objects is complete: reconcile all objects again, if any was reconciled before.
    ///
    /// A reconcile may have depended on a related object that was created and deleted before the list, or between two lists.
    /// No event reports such an object.
    RelatedSynced {
        /// Whether this is the first complete list of the source.
        first: bool,
    },
    /// A mapper, an index or a predicate panicked: report the error, reconcile nothing.
    CallbackPanicked(CallbackPanic),
    /// A source panicked and is silent from now on: report the error, reconcile nothing.
    SourcePanicked(SourcePanic),
    /// The initial sync took too long: report the error and end.
    SyncTimedOut { waited: Duration, waiting: String },
}

impl<K: Resource> From<ReconcileRequest<K>> for Trigger {
    fn from(ReconcileRequest { obj_ref, reason }: ReconcileRequest<K>) -> Self {
        let priority = reason.priority();
        Self::Object { key: obj_ref.into(), reason, priority, shows: None }
    }
}

impl Trigger {
    /// The trigger is about this change.
    pub(super) fn set_shown(&mut self, shown: &ShownState) {
        if let Self::Object { shows, .. } = self {
            *shows = Some(Box::new(shown.clone()));
        }
    }
}

/// A user's callback panicked when it was called with this object.
#[derive(Debug)]
pub(crate) struct CallbackPanic {
    /// The kind of callback: `mapper`, `index` or `predicate`.
    pub(crate) callback: &'static str,
    pub(crate) object: Box<ObjectRef<DynamicObject>>,
    pub(crate) message: String,
}

/// The code of a source panicked.
#[derive(Debug)]
pub(crate) struct SourcePanic {
    pub(crate) source: String,
    pub(crate) message: String,
}

/// The trigger of an object after a change of the object `related`.
pub(super) fn related_trigger(
    related: &ObjectRef<DynamicObject>,
    key: ObjectKey,
    priority: Priority,
) -> Trigger {
    let reason = ReconcileReason::RelatedObjectUpdated { obj_ref: Box::new(related.clone()) };
    Trigger::Object { key, reason, priority, shows: None }
}
