//! [`Readiness`]: whether an object of any kind is ready, by one rule set.
//!
//! The functions are pure. [`wait`](crate::wait) watches objects and applies them.

// `view` reads fields of any kind. `judge` chooses the rule: `terminating`, one of `rollout`, `pods` and `kinds`, else `conditions`.
// `readiness` is the result.

// The result, and which rule judges an object.
mod judge;
mod readiness;

// The rules.
mod conditions;
mod kinds;
mod pods;
mod rollout;
mod terminating;

// What the rules read.
mod view;

#[cfg(test)]
mod tests;

pub use readiness::{Readiness, ReadyState};
