//! What a program needs to export the metrics: buckets of the histograms, and a refresh.

use super::{
    names::{QUEUE_DURATION, TIME, WORK_DURATION},
    refresh::refresh_all,
};

/// Buckets of the histograms of this crate and of `kube-client`, in seconds or bytes: those of Go's controller-runtime and client-go.
///
/// An exporter of Prometheus' format needs them: without buckets, `metrics-exporter-prometheus` exports summaries, which no dashboard for
/// Go programs reads.
///
/// ```
/// for (metric, buckets) in kube_runtime::metrics::BUCKETS {
///     // builder.set_buckets_for_metric(Matcher::Full(metric.to_string()), buckets)
///     assert!(metric.ends_with("_seconds") || metric.ends_with("_bytes"));
///     assert!(buckets.is_sorted());
/// }
/// ```
pub const BUCKETS: &[(&str, &[f64])] = &[
    (
        TIME,
        &[
            0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9,
            1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 15.0, 20.0,
            25.0, 30.0, 40.0, 50.0, 60.0,
        ],
    ),
    (QUEUE_DURATION, QUEUE_BUCKETS),
    (WORK_DURATION, QUEUE_BUCKETS),
    ("rest_client_request_duration_seconds", REQUEST_BUCKETS),
    ("rest_client_rate_limiter_duration_seconds", REQUEST_BUCKETS),
    ("rest_client_dns_resolution_duration_seconds", REQUEST_BUCKETS),
    ("rest_client_request_size_bytes", SIZE_BUCKETS),
    ("rest_client_response_size_bytes", SIZE_BUCKETS),
];

const QUEUE_BUCKETS: &[f64] = &[1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0];
const REQUEST_BUCKETS: &[f64] = &[0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0];
const SIZE_BUCKETS: &[f64] =
    &[64.0, 256.0, 512.0, 1024.0, 4096.0, 16384.0, 65536.0, 262144.0, 1048576.0, 4194304.0, 16777216.0];

/// Sets the gauges of all running controllers that change with time alone. Call it before each export of the metrics.
///
/// O(number of watches and running reconciles).
pub fn refresh() {
    refresh_all();
}
