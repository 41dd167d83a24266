//! Pruning by an apply set, around a run: one file with the feature `apply-set`, and one without.

#[cfg(not(feature = "apply-set"))]
mod disabled;
#[cfg(feature = "apply-set")]
mod enabled;
#[cfg(feature = "apply-set")]
mod methods;

#[cfg(not(feature = "apply-set"))]
pub(super) use disabled::{Pruning, begin};
#[cfg(feature = "apply-set")]
pub(super) use enabled::{Pruning, begin};
