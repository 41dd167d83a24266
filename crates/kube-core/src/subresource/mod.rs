//! The verbs that only some kinds have: parameters and request of each.

mod cordon;
mod evict;
mod log;
mod restart;
#[cfg(feature = "ws")]
mod stream;
#[cfg(test)]
mod tests;

pub use evict::EvictParams;
pub use k8s_openapi::api::autoscaling::v1::{Scale, ScaleSpec, ScaleStatus};
pub use log::LogParams;
#[cfg(feature = "ws")]
pub use stream::AttachParams;
#[cfg(feature = "kubelet-debug")]
pub(crate) use stream::{check_ports, command};
