//! Fields that an update cannot change.
//!
//! `check` goes through the rows of `table`, one table of all built-in kinds; `claims`, `jobs`, `nodes`, `pods`, `roles` and `services` are
//! the checks that it names; `values` has what they share.

mod check;
mod claims;
mod jobs;
mod nodes;
mod pods;
mod roles;
mod services;
mod table;
mod values;

pub(super) use check::validate;
