//! The decisions of the workload controllers, as pure functions of objects; [`ClusterState`](crate::cluster) carries them out.
//!
//! `rollout` plans Deployments, `replicas` ReplicaSets and ReplicationControllers, `stateful_set` and `stateful_pod` StatefulSets, `daemon_set` and `node_fit` DaemonSets, `job` Jobs (with `job_tally`, `job_pod`, `job_indexes`, `job_policy`), `cron_job` CronJobs, `budget` PodDisruptionBudgets. `adoption` decides what they own, `revisions` which former templates they keep.
//! `endpoints` and `endpoint_slices` list the pods behind a service.

mod adoption;
mod budget;
mod cron_job;
mod daemon_set;
mod endpoint_slices;
mod endpoints;
mod job;
mod job_indexes;
mod job_pod;
mod job_policy;
mod job_tally;
mod node_fit;
mod replicas;
mod revisions;
mod rollout;
mod stateful_pod;
mod stateful_set;

pub(crate) use adoption::{adopt, controls, release, selects};
pub(crate) use budget::plan_budget;
pub(crate) use cron_job::{active_reference, plan_cron_job};
pub(crate) use daemon_set::{plan_daemon_set, pod_of_daemon};
pub(crate) use endpoint_slices::{SERVICE_NAME, SlicePlan, plan_mirror, plan_slices};
pub(crate) use endpoints::{Backend, backend, plan_endpoints};
pub(crate) use job::{JobPlan, plan_job};
pub(crate) use job_pod::{TRACKING, is_tracked, pod_of_job};
pub(crate) use replicas::{plan_replicas, pod_from_template, with_failure};
pub(crate) use revisions::{HistoryStep, hash_label, plan_history, surplus_revisions};
pub(crate) use rollout::plan_rollout;
pub(crate) use stateful_pod::{claims_of_set, ordinal_of, owned_claim, pod_of_set};
pub(crate) use stateful_set::{RevisionNames, StatefulPlan, plan_stateful_set};
