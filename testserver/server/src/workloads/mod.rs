//! The decisions of the workload controllers, as pure functions of objects; [`ClusterState`](crate::cluster) carries them out.
//!
//! `rollout` plans Deployments, `replicas` ReplicaSets, `job` Jobs, `budget` PodDisruptionBudgets.

mod budget;
mod job;
mod replicas;
mod rollout;

pub(crate) use budget::plan_budget;
pub(crate) use job::{plan_job, pod_of_job};
pub(crate) use replicas::{adopt, plan_replicas, pod_from_template, with_failure};
pub(crate) use rollout::plan_rollout;
