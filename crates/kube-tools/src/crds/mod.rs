//! Definitions of custom resources, as files and on a server.
//!
//! - [`to_yaml`]: definitions as a file to check in, or for `kubectl apply`.
//! - [`install`]: applies definitions, and returns when the server serves their kinds.

// `install` applies what `plan` decides; `older` is its case of a newer definition that is stored. `served` waits, `outcome` tells.
// `yaml` writes definitions.

mod install;
mod older;
mod outcome;
mod plan;
mod served;
mod yaml;

pub use install::install;
pub use outcome::{CrdError, InstallError, InstalledCrd};
pub use yaml::to_yaml;

pub(crate) use served::until_served;
