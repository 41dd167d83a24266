//! DaemonSet: one pod on each node that takes it, and the rollout from node to node.

mod node_fit;
mod plan;

pub(crate) use plan::{plan_daemon_set, pod_of_daemon};
