//! StatefulSet: pods with ordinals, one after the other, and the rollout from the last ordinal to the first.

mod plan;
mod pod;

pub(crate) use plan::{RevisionNames, StatefulPlan, plan_stateful_set};
pub(crate) use pod::{claim_names, claims_of_set, ordinal_of, owned_claim, pod_of_set};
