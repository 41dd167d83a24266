//! What a condition is.

use super::conditions::{And, Not, Or};

/// A state to wait for with [`await_condition`](super::await_condition).
///
/// Any `Fn(Option<&K>) -> bool` is one.
///
/// ```
/// use k8s_openapi::api::core::v1::Pod;
/// use kube_core::ResourceExt;
/// use kube_runtime::{conditions::is_pod_running, wait::Condition};
///
/// let is_labelled = |pod: Option<&Pod>| pod.is_some_and(|pod| pod.labels().contains_key("app"));
/// let is_serving = is_pod_running().and(is_labelled);
/// assert!(!is_serving.matches_object(None));
///
/// let absent_or_labelled = is_labelled.or(is_pod_running().not());
/// assert!(absent_or_labelled.matches_object(None));
/// ```
pub trait Condition<K> {
    /// Whether the object is in this state. `None` stands for an object that is not there.
    fn matches_object(&self, obj: Option<&K>) -> bool;

    /// The state of not being in this state.
    fn not(self) -> Not<Self>
    where
        Self: Sized,
    {
        Not(self)
    }

    /// The state of being in both states.
    fn and<Other: Condition<K>>(self, other: Other) -> And<Self, Other>
    where
        Self: Sized,
    {
        And(self, other)
    }

    /// The state of being in one of both states at least.
    fn or<Other: Condition<K>>(self, other: Other) -> Or<Self, Other>
    where
        Self: Sized,
    {
        Or(self, other)
    }
}

impl<K, F: Fn(Option<&K>) -> bool> Condition<K> for F {
    fn matches_object(&self, obj: Option<&K>) -> bool {
        self(obj)
    }
}
