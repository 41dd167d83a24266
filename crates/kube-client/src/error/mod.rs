//! The errors of calls.
//!
//! - `call`: [`enum@Error`], which every call returns, and the error of discovery.
//! - `conflict`: who owns the fields of a refused apply.
//! - `class`: what kind of failure an error is, for reactions to it.
//! - `status`: what the server's response says: not found, conflict, ...
//! - `erased`: an error behind a trait object.

mod call;
#[cfg(feature = "client")]
mod class;
mod conflict;
#[cfg(feature = "client")]
mod erased;
mod status;

#[expect(deprecated, reason = "the old name stays reachable")]
pub use kube_core::ErrorResponse;
pub use kube_core::Status;

#[cfg(feature = "client")]
#[doc(hidden)]
pub use self::call::ErasedError;
pub use self::call::{DiscoveryError, Error};
#[cfg(feature = "client")]
pub use self::class::ErrorClass;
pub use self::conflict::FieldConflict;
#[cfg(feature = "client")]
#[doc(hidden)]
pub use self::erased::Erased;
pub use self::status::status_of;
pub use crate::chain::ErrorChain;
