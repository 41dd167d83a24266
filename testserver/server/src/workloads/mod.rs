//! The decisions of the workload controllers, as pure functions of objects; [`ClusterState`](crate::cluster) carries them out.
//!
//! `rollout` plans Deployments, `replicas` ReplicaSets and ReplicationControllers, `job` Jobs, `budget` PodDisruptionBudgets. `adoption` decides what they own.
//! `endpoints` and `endpoint_slices` list the pods behind a service.

mod adoption;
mod budget;
mod endpoint_slices;
mod endpoints;
mod job;
mod replicas;
mod rollout;

pub(crate) use adoption::{adopt, controls, release};
pub(crate) use budget::plan_budget;
pub(crate) use endpoint_slices::{SERVICE_NAME, SlicePlan, plan_mirror, plan_slices};
pub(crate) use endpoints::{Backend, backend, plan_endpoints};
pub(crate) use job::{plan_job, pod_of_job};
pub(crate) use replicas::{plan_replicas, pod_from_template, with_failure};
pub(crate) use rollout::plan_rollout;
