//! What kinds a cluster has: for kinds that are known only at run time.
//!
//! [`Discovery`] asks for everything once; [`oneshot`] asks for one group or one kind.

mod aggregated;
mod fetch;
mod group;
pub mod oneshot;
mod plain;
mod run;

pub use group::ApiGroup;
pub use kube_core::discovery::{ApiCapabilities, ApiResource, Scope, verbs};
pub use oneshot::{group, pinned_group, pinned_kind};
pub use run::*;
