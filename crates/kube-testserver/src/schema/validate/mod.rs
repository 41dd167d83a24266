//! Validation of values by their schema: all violations, with the messages of the genuine server. Recursive, like the schemas.

mod embedded;
mod format;
mod lists;
mod numbers;
mod values;
mod walk;

#[cfg(test)]
mod tests;

pub(super) use format::date_time as is_date_time;
pub(super) use lists::{correlated, same};
pub(super) use walk::value;
