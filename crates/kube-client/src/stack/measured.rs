//! Metrics of requests, where the feature is on.

#[cfg(feature = "metrics")]
pub(super) fn layer() -> crate::layer::MetricsLayer {
    crate::layer::MetricsLayer::new()
}

#[cfg(not(feature = "metrics"))]
pub(super) fn layer() -> tower::layer::util::Identity {
    tower::layer::util::Identity::new()
}
