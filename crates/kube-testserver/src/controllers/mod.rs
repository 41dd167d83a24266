//! The decisions of controllers, as pure functions of objects. [`ClusterState`](crate::cluster) carries them out.

mod budget;
mod conditions;
mod containers;
mod job;
mod node;
mod replicas;
mod rollout;

pub(crate) use budget::plan_budget;
pub(crate) use containers::{bind, default_state, run};
pub(crate) use job::{plan_job, pod_of_job};
pub(crate) use node::{NODE_NAME, node_object};
pub(crate) use replicas::{adopt, plan_replicas, pod_from_template, with_failure};
pub(crate) use rollout::plan_rollout;
