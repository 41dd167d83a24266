//! What `cargo kube` does, as a library: [`types`] makes Rust types from definitions of custom resources, [`diff`] compares definitions,
//! `check` finds objects that a new definition refuses, and `migrate` writes stored objects again in the storage version.
//!
//! The program is described in the README.md of this package. A build script uses this crate with
//! `default-features = false`, which has no `check` and no `migrate`.

// For the program of this package: `folder` reads objects, `batch` writes files.
#[doc(hidden)]
pub mod batch;
#[cfg(feature = "cli")]
pub mod check;
pub mod diff;
#[doc(hidden)]
pub mod folder;
#[cfg(feature = "cli")]
pub mod migrate;
pub mod types;
