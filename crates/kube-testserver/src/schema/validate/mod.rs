//! Validation of values by their schema: all violations, with the messages of the genuine server. `walk` and `branches` call each other, because branches contain schemas.

mod branches;
mod embedded;
mod format;
mod lists;
mod values;
mod walk;

#[cfg(test)]
mod tests;

pub(super) use lists::{correlated, same};
pub(super) use walk::value;
