//! What kinds a cluster has.

pub use kube_core::discovery::{ApiCapabilities, ApiResource, Scope, verbs};
