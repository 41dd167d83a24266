//! The kinds that a cluster serves, for programs that know kinds only at run time.
//!
//! [`Discovery`] fetches all groups at once; [`oneshot`] fetches one group or one kind; [`RestMapper`] finds kinds by name and looks again
//! when one is missing.

// `oneshot` asks for one group or kind, `run` for all groups, by the requests of `fetch`, whose responses `aggregated` and `unaggregated`
// convert to a `group` and its kinds. `mapper` keeps what was asked, and finds a `mapping` in it.

pub mod oneshot;
mod run;

mod aggregated;
mod fetch;
mod unaggregated;

mod group;

mod mapper;
mod mapping;

pub use group::ApiGroup;
pub use kube_core::discovery::{ApiCapabilities, ApiResource, Scope, verbs};
pub use mapper::{NoMatch, RestMapper, RestMapperError};
pub use mapping::RestMapping;
pub use oneshot::{group, pinned_group, pinned_kind};
pub use run::*;
