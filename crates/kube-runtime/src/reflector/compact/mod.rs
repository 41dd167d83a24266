//! Stores that keep objects compressed, as received, and decode them when they are read. With the feature `compact-cache`.
//!
//! - `enabled`: the cache. `disabled`: without the feature, the types that a store is made of have no value.

#[cfg(not(feature = "compact-cache"))]
mod disabled;
#[cfg(feature = "compact-cache")]
mod enabled;

#[cfg(not(feature = "compact-cache"))]
pub(crate) use disabled::*;
#[cfg(not(feature = "compact-cache"))]
#[doc(hidden)]
pub use disabled::{Contributor, Dictionaries};
#[cfg(feature = "compact-cache")]
pub use enabled::*;
