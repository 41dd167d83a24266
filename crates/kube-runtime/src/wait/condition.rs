//! The [`Condition`] trait and its combinators.

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
    /// Whether the object is in this state. `None` means that the object does not exist.
    fn matches_object(&self, obj: Option<&K>) -> bool;

    /// Holds when this condition does not.
    fn not(self) -> Not<Self>
    where
        Self: Sized,
    {
        Not(self)
    }

    /// Holds when both conditions hold.
    fn and<Other: Condition<K>>(self, other: Other) -> And<Self, Other>
    where
        Self: Sized,
    {
        And(self, other)
    }

    /// Holds when at least one of both conditions holds.
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

/// Holds when a condition does not. Made by [`Condition::not`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Not<A>(A);

/// Holds when both conditions hold. Made by [`Condition::and`]. The second is evaluated only if the first holds.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct And<A, B>(A, B);

/// Holds when at least one condition holds. Made by [`Condition::or`]. The second is evaluated only if the first does not
/// hold.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Or<A, B>(A, B);

impl<K, A: Condition<K>> Condition<K> for Not<A> {
    fn matches_object(&self, object: Option<&K>) -> bool {
        let Self(inner) = self;
        !inner.matches_object(object)
    }
}

impl<K, A: Condition<K>, B: Condition<K>> Condition<K> for And<A, B> {
    fn matches_object(&self, object: Option<&K>) -> bool {
        let Self(first, second) = self;
        first.matches_object(object) && second.matches_object(object)
    }
}

impl<K, A: Condition<K>, B: Condition<K>> Condition<K> for Or<A, B> {
    fn matches_object(&self, object: Option<&K>) -> bool {
        let Self(first, second) = self;
        first.matches_object(object) || second.matches_object(object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_combine_like_booleans() {
        let yes = |_: Option<&u8>| true;
        let no = |_: Option<&u8>| false;
        assert!(yes.and(yes).matches_object(None) && !yes.and(no).matches_object(None));
        assert!(no.or(yes).matches_object(None) && !no.or(no).matches_object(None));
        assert!(no.not().matches_object(None) && !yes.not().matches_object(None));
    }
}
