//! Definitions of custom resources, as files and on a server.
//!
//! - [`to_yaml`]: definitions as a file to check in, or for `kubectl apply`.
//! - [`install`]: applies definitions, and returns when the server serves their kinds.

// `install` writes what `plan` decides; `older` is its case of a newer definition that is stored. Both keep what `schema` and `conversion`
// say. `served` waits, `outcome` tells. `yaml` writes definitions.

mod conversion;
mod install;
mod older;
mod outcome;
mod plan;
mod schema;
mod served;
mod yaml;

pub use install::install;
pub use outcome::{CrdError, InstallError, InstalledCrd};
pub use yaml::to_yaml;

pub(crate) use served::until_served;
