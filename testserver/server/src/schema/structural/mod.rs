//! The rules of structural schemas, with the messages of the genuine server.

mod branch;
mod check;
mod list;
mod unsupported;

// The recorded schemas have validation rules.
#[cfg(all(test, feature = "cel"))]
mod tests;

pub(super) use check::check;
