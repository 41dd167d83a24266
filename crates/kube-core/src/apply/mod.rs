//! Server-side apply (KEP-555): configurations that have exactly the fields that a field manager wants.
//!
//! - `sparse`: [`Sparse`], a configuration that has exactly the fields that were written.
//! - `fields`: what the macro `kube::apply!` calls to write one.

#[doc(hidden)]
pub mod fields;
mod sparse;

#[doc(hidden)]
pub use sparse::{Field, Fields};
pub use sparse::{Sparse, SparseError};
