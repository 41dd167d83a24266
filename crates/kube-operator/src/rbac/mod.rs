//! The permissions that a program needs, from the requests that it makes.
//!
//! [`RbacRecorder`] is a tower layer for the client. Run the program's tests through it, and write the recorded
//! [`Permissions`] as `ClusterRole` and `Role`:
//!
//! - `access`: from a request to the permissions that it needs.
//! - `recorder`: the layer.
//! - `library`: what this library needs at times, beyond what was requested.
//! - `permissions`: merges permissions into rules.
//! - `review`: which permissions this program does not have.
//! - `refusal`: which permission a refused request lacked.
//! - `yaml`: writes the roles as manifests.

mod access;
mod library;
mod permissions;
mod recorder;
mod refusal;
mod review;
mod yaml;

pub use permissions::Permissions;
pub use recorder::{RbacRecorder, Recorded, RecordedFuture};

pub(crate) use refusal::refused_permission;
pub(crate) use review::{missing_permissions, permissions_for};
