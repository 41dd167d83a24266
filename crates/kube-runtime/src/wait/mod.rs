//! Waiting for an object to reach a state.

mod builtin;
mod condition;
pub mod conditions;
pub mod delete;
mod probe;

pub use condition::Condition;
pub use probe::{Error, await_condition};
