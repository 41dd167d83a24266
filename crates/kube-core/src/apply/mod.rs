//! Server-side apply (KEP-555): configurations, and what a manager has applied.
//!
//! A configuration has exactly the fields that one field manager wants. The server records that the manager owns them, removes those that
//! it applied before and left out now, and refuses to change fields of other managers, unless forced.
//!
//! - `sparse`: [`Sparse`], a configuration that has exactly the fields that were written.
//! - `fields`: what the macro `kube::apply!` calls to write one.
//! - `configuration`: [`Configuration`], what can be applied: a [`Sparse`], and every object.
//! - `merge_types`: how servers merge the values of a kind.
//! - `list_map_keys`: [`ListMapKeys`], the fields that identify the items of lists, checked before a configuration is sent.
//! - `managed_fields`: reads `metadata.managedFields`.
//! - `extract`: [`extract()`], the configuration that a manager applied last, from `metadata.managedFields`.

mod configuration;
mod extract;
#[cfg(test)]
mod extract_tests;
#[doc(hidden)]
pub mod fields;
mod list_map_keys;
#[doc(hidden)]
pub mod managed_fields;
mod merge_types;
mod sparse;

pub use configuration::Configuration;
pub use extract::{ExtractError, extract};
pub use list_map_keys::{ListMapKeys, MissingKey};
#[doc(hidden)]
pub use sparse::{Field, Fields};
pub use sparse::{Sparse, SparseError};
