//! Requests for subresources and operations of some kinds only: logs, exec, eviction, cordon, restart.
//!
//! ```
//! use kube_core::{Request, params::DeleteParams, subresource::{EvictParams, LogParams}};
//!
//! let pods = Request::new("/api/v1/namespaces/web/pods");
//!
//! let tail = LogParams { tail_lines: Some(20), timestamps: true, ..LogParams::default() };
//! assert_eq!(pods.logs("front-0", &tail)?.uri(), "/api/v1/namespaces/web/pods/front-0/log?&tailLines=20&timestamps=true");
//!
//! let evict_params = EvictParams { delete_options: Some(DeleteParams::default().grace_period(5)), ..EvictParams::default() };
//! assert_eq!(pods.evict("front-0", &evict_params)?.uri().path(), "/api/v1/namespaces/web/pods/front-0/eviction");
//!
//! let scale = Request::new("/apis/apps/v1/namespaces/web/deployments").get_subresource("scale", "front")?;
//! assert_eq!(scale.uri().path(), "/apis/apps/v1/namespaces/web/deployments/front/scale");
//! # Ok::<(), kube_core::request::Error>(())
//! ```

mod evict;
mod log;
mod patches;
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
