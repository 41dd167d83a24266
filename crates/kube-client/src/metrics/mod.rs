//! Metrics, under the names that dashboards for Go clients use: their names (`enabled`), the layer that counts requests (`layer`) and the
//! timed DNS lookups (`resolver`). Without the feature `metrics` nothing is measured (`disabled`).

#[cfg(feature = "metrics")]
mod enabled;
#[cfg(feature = "metrics")]
mod layer;
#[cfg(feature = "metrics")]
mod resolver;
#[cfg(feature = "metrics")]
pub(crate) use enabled::{Waiting, plugin_called, repeated};
#[cfg(feature = "metrics")]
pub use layer::{Metrics, MetricsBody, MetricsFuture, MetricsLayer};
#[cfg(feature = "metrics")]
pub(crate) use resolver::Resolver;

#[cfg(not(feature = "metrics"))]
mod disabled;
#[cfg(not(feature = "metrics"))]
pub(crate) use disabled::*;
