//! Conditions to wait for, and ways to combine them.

pub use super::builtin::{
    is_crd_established, is_created, is_deleted, is_deployment_completed, is_ingress_provisioned,
    is_job_completed, is_pod_running, is_service_loadbalancer_provisioned,
};
pub use super::condition::Condition;

/// The opposite of a condition, made by [`Condition::not`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Not<A>(pub(super) A);

/// Two conditions that must hold at once, made by [`Condition::and`]. The second is asked only where the first holds.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct And<A, B>(pub(super) A, pub(super) B);

/// Two conditions of which one is enough, made by [`Condition::or`]. The second is asked only where the first fails.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Or<A, B>(pub(super) A, pub(super) B);

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
    fn combine_as_booleans_do() {
        let yes = |_: Option<&u8>| true;
        let no = |_: Option<&u8>| false;
        assert!(yes.and(yes).matches_object(None) && !yes.and(no).matches_object(None));
        assert!(no.or(yes).matches_object(None) && !no.or(no).matches_object(None));
        assert!(no.not().matches_object(None) && !yes.not().matches_object(None));
    }
}
