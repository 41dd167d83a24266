//! Dropping changes that do not matter from a stream of objects.
//!
//! - `property`: the [`Predicate`] trait and its combinators.
//! - [`predicates`]: the built-in predicates.
//! - `filter`: the stream adapter.

mod filter;
pub mod predicates;
mod property;

pub use filter::{PredicateConfig, PredicateFilter};
pub use property::{Combine, Fallback, Predicate};
