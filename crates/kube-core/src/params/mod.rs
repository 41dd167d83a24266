//! What can be asked of the verbs of the API.
//!
//! Parameters are plain data; they are checked when a [`Request`](crate::Request) is made from them.

mod delete;
mod get;
mod list;
mod patch;
mod watch;
mod write;

pub use delete::{DeleteParams, Preconditions, PropagationPolicy};
pub use get::GetParams;
pub use list::{ListParams, VersionMatch};
pub use patch::{Patch, PatchParams, ValidationDirective};
pub use watch::WatchParams;
pub use write::PostParams;
