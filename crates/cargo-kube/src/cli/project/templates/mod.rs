//! Templates: the texts of a project from its description. Every version that has ever written a project stays, for `upgrade`.
//!
//! `template` is what a version of the texts is, `known` has all versions, `v1` the first one. It finds `places` in the user's code,
//! refuses names that are `taken`, and makes a version of a kind from the one before it (`versions`). `fit` breaks lines that names make
//! too long.

mod fit;
mod known;
mod template;
mod v1;

mod places;
mod taken;
mod versions;

pub(super) use known::{TEMPLATES, find, newest};
pub(super) use taken::check_free;
pub(super) use template::{Files, Template};

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(super) use tests::second;
