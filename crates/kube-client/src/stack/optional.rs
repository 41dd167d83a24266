//! Layers of optional features, which do nothing without their feature.

#[cfg(not(all(feature = "gzip", feature = "metrics")))]
use tower::layer::util::Identity;

#[cfg(feature = "gzip")]
use super::gzip::GzipLayer;
use crate::config::Config;
#[cfg(feature = "metrics")]
use crate::metrics::MetricsLayer;

/// Requests gzip and decompresses.
#[cfg(feature = "gzip")]
pub(super) fn decompression_layer(config: &Config) -> GzipLayer {
    GzipLayer { enabled: !config.disable_compression }
}

#[cfg(not(feature = "gzip"))]
pub(super) fn decompression_layer(_: &Config) -> Identity {
    Identity::new()
}

/// Records the `rest_client_*` metrics of requests.
#[cfg(feature = "metrics")]
pub(super) fn metrics_layer() -> MetricsLayer {
    MetricsLayer::new()
}

#[cfg(not(feature = "metrics"))]
pub(super) fn metrics_layer() -> Identity {
    Identity::new()
}
