//! What controllers decide, as functions from objects to objects. [`World`](crate::world) does what they say.

mod budget;
mod conditions;
mod containers;
mod job;
mod node;
mod replicas;
mod rollout;

pub(crate) use budget::plan_budget;
pub(crate) use containers::{bind, default_life, run};
pub(crate) use job::plan_job;
pub(crate) use node::{NODE, node};
pub(crate) use replicas::{adopt, plan_replicas, pod_of};
pub(crate) use rollout::plan_rollout;
