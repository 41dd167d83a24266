//! Validation of values by their schema: all violations, with the messages of the genuine server. Recursive, like the schemas.

mod embedded;
pub(super) mod format;
pub(super) mod lists;
mod numbers;
mod values;
mod walk;

#[cfg(test)]
mod tests;

pub(super) use walk::value;
