//! Whether a value fits its schema; every violation is found, worded as the genuine server words it.

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
