//! The decisions of the workload controllers, as pure functions of objects: what a Job does next is decided in `job`, and the file of the
//! same controller in `cluster/workloads` carries it out.
//!
//! In the order in which data passes:
//!
//! - `pod`: the states of a pod, and how many there may be. `template`: what a controller makes of its template.
//! - `adoption`: which objects an owner has. `revisions`: which former templates it keeps.
//! - `cron_job` plans CronJobs, `job` Jobs.
//! - `deployment` plans Deployments, `replica_set` ReplicaSets and ReplicationControllers, `stateful_set` StatefulSets,
//!   `daemon_set` DaemonSets.
//! - `endpoints`: the pods behind a service. `budget`: the pods that may be evicted.

mod adoption;
mod budget;
mod cron_job;
mod daemon_set;
mod deployment;
mod endpoints;
mod job;
mod pod;
mod replica_set;
mod revisions;
mod stateful_set;
mod template;

pub(crate) use adoption::{adopt, release, selector_of, selects};
pub(crate) use budget::plan_budget;
pub(crate) use cron_job::{active_reference, plan_cron_job};
pub(crate) use daemon_set::{plan_daemon_set, pod_of_daemon};
pub(crate) use deployment::{REVISION, Rollout, plan_rollout};
pub(crate) use endpoints::{
    Backend, SERVICE_NAME, SlicePlan, backend, plan_endpoints, plan_mirror, plan_slices,
};
pub(crate) use job::{TRACKING, is_tracked, plan_job, pod_of_job};
pub(crate) use pod::Pod;
pub(crate) use replica_set::{plan_replicas, with_failure};
pub(crate) use revisions::{HistoryStep, hash_label, plan_history, surplus_revisions};
pub(crate) use stateful_set::{
    RevisionNames, StatefulPlan, claim_names, claims_of_set, ordinal_of, owned_claim, plan_stateful_set,
    pod_of_set,
};
pub(crate) use template::pod_from_template;
