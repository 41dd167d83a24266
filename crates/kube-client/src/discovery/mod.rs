//! The kinds that a cluster serves, for programs that know kinds only at run time.
//!
//! [`Discovery`] fetches all groups at once; [`oneshot`] fetches one group or one kind; [`RestMapper`] finds kinds by name and looks again
//! when one is missing.

// Everything at once, or one group or kind.
pub mod oneshot;
mod run;

// The requests, and the two forms of their responses.
mod aggregated;
mod fetch;
mod unaggregated;

// The result.
mod group;

// Kinds by their names, with a cache.
mod mapper;
mod mapping;

pub use group::ApiGroup;
pub use kube_core::discovery::{ApiCapabilities, ApiResource, Scope, verbs};
pub use mapper::{NoMatch, RestMapper, RestMapperError};
pub use mapping::RestMapping;
pub use oneshot::{group, pinned_group, pinned_kind};
pub use run::*;
