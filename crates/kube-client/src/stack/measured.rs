//! Metrics of requests, if the feature `metrics` is enabled.

#[cfg(feature = "metrics")]
pub(super) fn layer() -> crate::layer::MetricsLayer {
    crate::layer::MetricsLayer::new()
}

#[cfg(not(feature = "metrics"))]
pub(super) fn layer() -> tower::layer::util::Identity {
    tower::layer::util::Identity::new()
}
