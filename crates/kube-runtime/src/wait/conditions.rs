//! Conditions to wait for, and ways to combine them.

pub use super::builtin::{
    is_crd_established, is_created, is_deleted, is_deployment_completed, is_ingress_provisioned,
    is_job_completed, is_pod_running, is_service_loadbalancer_provisioned,
};
pub use super::condition::Condition;

/// See [`Condition::not`].
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Not<A>(pub(super) A);

impl<A: Condition<K>, K> Condition<K> for Not<A> {
    fn matches_object(&self, obj: Option<&K>) -> bool {
        !self.0.matches_object(obj)
    }
}

/// See [`Condition::and`].
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct And<A, B>(pub(super) A, pub(super) B);

impl<A, B, K> Condition<K> for And<A, B>
where
    A: Condition<K>,
    B: Condition<K>,
{
    fn matches_object(&self, obj: Option<&K>) -> bool {
        self.0.matches_object(obj) && self.1.matches_object(obj)
    }
}

/// See [`Condition::or`].
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Or<A, B>(pub(super) A, pub(super) B);

impl<A, B, K> Condition<K> for Or<A, B>
where
    A: Condition<K>,
    B: Condition<K>,
{
    fn matches_object(&self, obj: Option<&K>) -> bool {
        self.0.matches_object(obj) || self.1.matches_object(obj)
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
