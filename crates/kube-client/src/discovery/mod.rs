//! The kinds that a cluster serves, for programs that know kinds only at run time.
//!
//! [`Discovery`] fetches all groups at once; [`oneshot`] fetches one group or one kind.

// Everything at once, or one group or kind.
pub mod oneshot;
mod run;

// The requests, and the two forms of their responses.
mod aggregated;
mod fetch;
mod unaggregated;

// The result.
mod group;

pub use group::ApiGroup;
pub use kube_core::discovery::{ApiCapabilities, ApiResource, Scope, verbs};
pub use oneshot::{group, pinned_group, pinned_kind};
pub use run::*;
