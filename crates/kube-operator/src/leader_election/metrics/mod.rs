//! The metrics of an elector. Without the feature `metrics`, nothing is recorded.

#[cfg(not(feature = "metrics"))]
mod disabled;
#[cfg(feature = "metrics")]
mod enabled;

#[cfg(not(feature = "metrics"))]
pub(super) use disabled::ElectionMetrics;
#[cfg(feature = "metrics")]
pub(super) use enabled::ElectionMetrics;
