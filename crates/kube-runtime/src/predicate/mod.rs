//! Telling changes that matter from those that do not.

mod filter;
pub mod predicates;
mod property;

pub use filter::{PredicateConfig, PredicateFilter};
pub use property::{Combine, Fallback, Predicate};
