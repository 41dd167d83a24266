//! Validation of values by their schema: all violations, with the messages of the genuine server. Recursive, like the schemas.
//!
//! `walk` goes through an object: `values` judges single values with `numbers` and `format`, `lists` their uniqueness, and `embedded` has
//! the objects in an object.

mod embedded;
pub(super) mod format;
pub(super) mod lists;
mod numbers;
mod values;
mod walk;

#[cfg(test)]
mod tests;

pub(super) use walk::value;
