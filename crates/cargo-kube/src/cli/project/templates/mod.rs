//! Templates: the texts of a project from its description. Every version that has ever written a project stays, for `upgrade`.

// What a version is, and which there are.
mod known;
mod template;
mod v1;

// Of all versions.
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
