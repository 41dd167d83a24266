//! Waiting for an object to reach a state.
//!
//! - `condition`, [`conditions`]: the states to wait for.
//! - `await_condition`: watches one object until a condition holds.
//! - [`delete`]: deletes an object and waits until it no longer exists.

mod await_condition;
mod condition;
pub mod conditions;
pub mod delete;

pub use await_condition::{Error, await_condition};
pub use condition::Condition;
