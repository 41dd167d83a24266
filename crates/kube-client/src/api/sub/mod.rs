//! Subresources: parts of an object with a path of their own.
//!
//! - `generic`: any subresource, by its name
//! - `status`, `scale`: of any kind that has them
//! - `pod`, `logs`, `exec`: of pods
//! - `credentials`: of service accounts and certificate signing requests

mod credentials;
#[cfg(feature = "ws")]
mod exec;
mod generic;
mod logs;
mod pod;
mod scale;
mod status;

#[cfg(feature = "ws")]
pub use exec::{Attach, Execute, Portforward};
pub use logs::Log;
#[cfg(feature = "ws")]
pub use pod::Ephemeral;
pub use pod::{Evict, Resize};
