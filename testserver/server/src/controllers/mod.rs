//! The decisions of controllers, as pure functions of objects. [`ClusterState`](crate::cluster) carries them out.

mod conditions;
mod containers;
mod node;
#[cfg(feature = "workloads")]
pub(crate) mod workloads;

pub(crate) use containers::{bind, default_state, run};
pub(crate) use node::{NODE_NAME, node_object};
