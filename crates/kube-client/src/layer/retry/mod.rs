//! Repeating what the server asks to repeat later, and only what is safe to repeat.

mod decision;
mod policy;

pub use policy::RetryPolicy;
