//! Metrics, under the names that dashboards for Go clients use. Without the feature `metrics` everything here is empty.

#[cfg(feature = "metrics")]
mod enabled;
#[cfg(feature = "metrics")]
mod resolver;
#[cfg(feature = "metrics")]
pub(crate) use enabled::*;
#[cfg(feature = "metrics")]
pub(crate) use resolver::Resolver;

#[cfg(not(feature = "metrics"))]
mod disabled;
#[cfg(not(feature = "metrics"))]
pub(crate) use disabled::*;
