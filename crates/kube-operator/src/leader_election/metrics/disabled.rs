//! The counterpart of `enabled` without the feature `metrics`: it records nothing.

pub(in crate::leader_election) struct ElectionMetrics;

impl ElectionMetrics {
    pub(in crate::leader_election) fn new(_lease: &str, _namespace: &str) -> Self {
        Self
    }

    pub(in crate::leader_election) fn leads(&self, _leads: bool) {}

    pub(in crate::leader_election) fn slow_path(&self) {}
}
