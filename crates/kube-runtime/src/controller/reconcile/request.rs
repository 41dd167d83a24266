//! Requests for reconciles, and their reasons.

use crate::{queue::Priority, reflector::ObjectRef};
use kube_core::{DynamicObject, Resource};
use std::{
    fmt,
    hash::{Hash, Hasher},
};

/// A request to reconcile an object.
///
/// Requests for the same object are equal, regardless of their reasons.
pub struct ReconcileRequest<K: Resource> {
    /// The object to reconcile.
    pub obj_ref: ObjectRef<K>,
    /// The reason, for logs and spans. When requests are merged, all reasons but one are lost, so a reconciler must not
    /// depend on it.
    pub reason: ReconcileReason,
}

/// Why an object is reconciled. When requests are merged, the reason of the one that is due first.
#[derive(Debug, Clone)]
pub enum ReconcileReason {
    /// Requested without a reason: the default of [`ReconcileRequest::from`].
    Unknown,
    /// The object itself changed, or is from the initial list.
    ObjectUpdated,
    /// An object that it owns or depends on changed.
    RelatedObjectUpdated {
        /// The related object.
        obj_ref: Box<ObjectRef<DynamicObject>>,
    },
    /// Its reconciler requested a requeue.
    ReconcilerRequestedRetry,
    /// Its reconciler failed, and the error policy requested a requeue.
    ErrorPolicyRequestedRetry,
    /// All objects are reconciled.
    BulkReconcile,
    /// Any other reason.
    Custom {
        /// A description.
        reason: String,
    },
}

impl ReconcileReason {
    /// Whether the request comes from the controller itself. Such a request is dropped silently if the object is deleted.
    pub(crate) fn is_internal(&self) -> bool {
        matches!(self, Self::ReconcilerRequestedRetry | Self::ErrorPolicyRequestedRetry | Self::BulkReconcile)
    }

    /// Internal requests have the priority of the background.
    pub(crate) fn priority(&self) -> Priority {
        if self.is_internal() { Priority::Background } else { Priority::Change }
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

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::core::v1::ConfigMap;

    #[test]
    fn requests_of_the_controller_itself_are_in_the_background() {
        let internal = [
            ReconcileReason::ReconcilerRequestedRetry,
            ReconcileReason::ErrorPolicyRequestedRetry,
            ReconcileReason::BulkReconcile,
        ];
        let external = [
            ReconcileReason::Unknown,
            ReconcileReason::ObjectUpdated,
            ReconcileReason::RelatedObjectUpdated {
                obj_ref: Box::new(ObjectRef::<ConfigMap>::new("a").erase()),
            },
            ReconcileReason::Custom { reason: "a schedule".into() },
        ];
        assert!(
            internal.iter().all(|reason| reason.is_internal() && reason.priority() == Priority::Background)
        );
        assert!(external.iter().all(|reason| !reason.is_internal() && reason.priority() == Priority::Change));
    }

    #[test]
    fn requests_are_equal_by_their_object() {
        let request =
            |name: &str, reason| ReconcileRequest { obj_ref: ObjectRef::<ConfigMap>::new(name), reason };
        let one = request("a", ReconcileReason::Unknown);
        assert_eq!(one, request("a", ReconcileReason::ObjectUpdated));
        assert_ne!(one, request("b", ReconcileReason::Unknown));
        let hash = |request: &ReconcileRequest<ConfigMap>| {
            let mut hasher = std::hash::DefaultHasher::new();
            request.hash(&mut hasher);
            std::hash::Hasher::finish(&hasher)
        };
        assert_eq!(hash(&one), hash(&request("a", ReconcileReason::BulkReconcile)));
        assert_ne!(hash(&one), hash(&request("b", ReconcileReason::Unknown)));
        let shown = format!("{one:?}");
        assert!(shown.contains(r#"name: "a""#) && shown.contains("reason: Unknown"), "{shown}");
    }
}
