//! What is counted and timed, under the names that dashboards for Go clients use. Costs nothing unless the feature `metrics` is on.

#[cfg(feature = "metrics")]
mod enabled;
#[cfg(feature = "metrics")]
mod names;
#[cfg(feature = "metrics")]
mod resolver;
#[cfg(feature = "metrics")]
pub(crate) use enabled::*;
#[cfg(feature = "metrics")]
pub(crate) use names::*;
#[cfg(feature = "metrics")]
pub(crate) use resolver::Resolver;

#[cfg(not(feature = "metrics"))]
mod disabled;
#[cfg(not(feature = "metrics"))]
pub(crate) use disabled::*;
