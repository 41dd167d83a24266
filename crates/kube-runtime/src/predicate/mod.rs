//! Dropping changes that do not matter from a stream of objects.
//!
//! - `property`: the [`Predicate`] trait and its combinators.
//! - [`predicates`]: the built-in predicates.
//! - `filter`: the stream adapter.
//! - `change_filter`: the states that the filters of a controller remember.

mod change_filter;
mod filter;
pub mod predicates;
mod property;

pub use filter::{PredicateConfig, PredicateFilter};
pub use property::{Combine, Fallback, Predicate};
pub(crate) use {
    change_filter::{BoxPredicate, SeenStates, State, state_of},
    predicates::hash,
};
