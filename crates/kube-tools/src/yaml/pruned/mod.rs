//! What was pruned: one file with the feature `apply-set`, and one without.

#[cfg(not(feature = "apply-set"))]
mod disabled;
#[cfg(feature = "apply-set")]
mod enabled;

#[cfg(not(feature = "apply-set"))]
pub use disabled::PruneStep;
#[cfg(not(feature = "apply-set"))]
pub(super) use disabled::{PruneSet, Pruned};
#[cfg(feature = "apply-set")]
pub use enabled::PruneStep;
#[cfg(feature = "apply-set")]
pub(super) use enabled::{PruneSet, Pruned};
