//! Asking for a reconcile.

use super::guard::CallbackPanic;
use crate::{queue::Urgency, reflector::ObjectRef, watcher::Event};
use kube_core::{DynamicObject, Resource};
use std::{
    fmt,
    hash::{Hash, Hasher},
};

/// Asks for a reconcile of an object.
///
/// Requests for the same object are equal, whatever their reasons.
pub struct ReconcileRequest<K: Resource> {
    /// The object to reconcile.
    pub obj_ref: ObjectRef<K>,
    /// Why. For people and logs: reasons are merged and lost, so no reconciler may depend on them.
    pub reason: ReconcileReason,
}

/// What a source asks for.
pub(super) enum Asked<K: Resource> {
    /// One object.
    One { request: ReconcileRequest<K>, urgency: Urgency },
    /// Every object there is.
    All,
    /// Every object that was reconciled before a list of related objects was complete.
    ///
    /// Related objects that came and went unseen, before the first list or between two, may have been seen by a reconcile.
    Reviewed {
        /// Whether it was the first list of this source.
        first: bool,
    },
    /// Nothing: a function of the user that was to tell panicked.
    CallbackPanicked(CallbackPanic),
}

impl<K: Resource> From<ReconcileRequest<K>> for Asked<K> {
    fn from(request: ReconcileRequest<K>) -> Self {
        let urgency = request.reason.urgency();
        Self::One { request, urgency }
    }
}

/// Whether an event is news or just tells what is there.
pub(super) fn urgency_of<T>(event: &Event<T>) -> Urgency {
    match event {
        Event::Init | Event::InitApply(_) | Event::InitDone => Urgency::Background,
        Event::Apply(_) | Event::Delete(_) => Urgency::Change,
    }
}

/// Why an object is reconciled. Of several reasons, the one whose time came first.
#[derive(Debug, Clone)]
pub enum ReconcileReason {
    /// Somebody asked for it: the default of [`ReconcileRequest::from`].
    Unknown,
    /// The object itself changed, or was there at the start.
    ObjectUpdated,
    /// An object that it owns or depends on changed.
    RelatedObjectUpdated {
        /// That object.
        obj_ref: Box<ObjectRef<DynamicObject>>,
    },
    /// Its reconciler asked for another run.
    ReconcilerRequestedRetry,
    /// Its reconciler failed, and the error policy asked for another run.
    ErrorPolicyRequestedRetry,
    /// All objects are reconciled.
    BulkReconcile,
    /// Something else.
    Custom {
        /// In words.
        reason: String,
    },
}

impl ReconcileReason {
    /// Whether the controller asked itself: then it is no surprise if the object is gone by now.
    pub(super) fn is_own(&self) -> bool {
        matches!(self, Self::ReconcilerRequestedRetry | Self::ErrorPolicyRequestedRetry | Self::BulkReconcile)
    }

    /// What the controller asks itself can wait for what others ask.
    pub(super) fn urgency(&self) -> Urgency {
        if self.is_own() { Urgency::Background } else { Urgency::Change }
    }
}

impl fmt::Display for ReconcileReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => f.write_str("unknown"),
            Self::ObjectUpdated => f.write_str("object updated"),
            Self::RelatedObjectUpdated { obj_ref } => write!(f, "related object updated: {obj_ref}"),
            Self::ReconcilerRequestedRetry => f.write_str("reconciler requested retry"),
            Self::ErrorPolicyRequestedRetry => f.write_str("error policy requested retry"),
            Self::BulkReconcile => f.write_str("bulk reconcile requested"),
            Self::Custom { reason } => f.write_str(reason),
        }
    }
}

impl<K: Resource> From<ObjectRef<K>> for ReconcileRequest<K> {
    fn from(obj_ref: ObjectRef<K>) -> Self {
        Self { obj_ref, reason: ReconcileReason::Unknown }
    }
}

impl<K: Resource> Clone for ReconcileRequest<K>
where
    K::DynamicType: Clone,
{
    fn clone(&self) -> Self {
        Self { obj_ref: self.obj_ref.clone(), reason: self.reason.clone() }
    }
}

impl<K: Resource> fmt::Debug for ReconcileRequest<K>
where
    K::DynamicType: fmt::Debug,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReconcileRequest")
            .field("obj_ref", &self.obj_ref)
            .field("reason", &self.reason)
            .finish()
    }
}

impl<K: Resource> PartialEq for ReconcileRequest<K>
where
    K::DynamicType: PartialEq,
{
    fn eq(&self, other: &Self) -> bool {
        self.obj_ref == other.obj_ref
    }
}

impl<K: Resource> Eq for ReconcileRequest<K> where K::DynamicType: Eq {}

impl<K: Resource> Hash for ReconcileRequest<K>
where
    K::DynamicType: Hash,
{
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.obj_ref.hash(state);
    }
}
