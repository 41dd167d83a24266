//! The metrics of controllers and watches, through the [facade `metrics`](::metrics). With the feature `metrics`.
//!
//! Names and labels of the first two groups are those of Go's controller-runtime and client-go, so their dashboards and alerts work.
//! `deploy/` in the repository has a dashboard and alert rules.
//!
//! | metric | type | labels | |
//! |---|---|---|---|
//! | `controller_runtime_reconcile_total` | counter | `controller`, `result` | reconciles; `result` is `success`, `requeue`, `requeue_after` or `error` |
//! | `controller_runtime_reconcile_errors_total` | counter | `controller` | reconciles that failed, panics and timeouts included |
//! | `controller_runtime_terminal_reconcile_errors_total` | counter | `controller` | those after which the error policy requested no other attempt |
//! | `controller_runtime_reconcile_panics_total` | counter | `controller` | reconciles that panicked |
//! | `controller_runtime_reconcile_timeouts_total` | counter | `controller` | reconciles that exceeded the timeout of the controller |
//! | `controller_runtime_reconcile_time_seconds` | histogram | `controller` | duration of reconciles |
//! | `controller_runtime_active_workers` | gauge | `controller` | running reconciles |
//! | `controller_runtime_max_concurrent_reconciles` | gauge | `controller` | limit of running reconciles; `+Inf` without a limit |
//! | `workqueue_depth` | gauge | `name`, `controller`, `priority` | objects that are due; `priority` is `0` for changes, `-100` for lists and requeues |
//! | `workqueue_adds_total` | counter | `name`, `controller` | objects that were queued |
//! | `workqueue_queue_duration_seconds` | histogram | `name`, `controller` | time from due to start |
//! | `workqueue_work_duration_seconds` | histogram | `name`, `controller` | duration of reconciles |
//! | `workqueue_retries_total` | counter | `name`, `controller` | objects that were queued with backoff, or after a failure |
//! | `workqueue_unfinished_work_seconds` | gauge | `name`, `controller` | sum of the times that the running reconciles have been running |
//! | `workqueue_longest_running_processor_seconds` | gauge | `name`, `controller` | the longest of these times |
//! | `kube_runtime_watch_events_total` | counter | `controller`, `kind`, `type` | received events; `type` is `added`, `modified`, `deleted` or `bookmark` |
//! | `kube_runtime_watch_errors_total` | counter | `controller`, `kind` | failed lists and watches |
//! | `kube_runtime_watch_restarts_total` | counter | `controller`, `kind` | watch requests after the first one of each watch |
//! | `kube_runtime_watch_relists_total` | counter | `controller`, `kind` | lists after the first one of each watch |
//! | `kube_runtime_watch_received_bytes_total` | counter | `controller`, `kind` | bytes of lists and watches, after decompression |
//! | `kube_runtime_watch_last_event_age_seconds` | gauge | `controller`, `kind` | time since the server sent anything but an error, of the longest silent watch |
//! | `kube_runtime_watch_objects` | gauge | `controller`, `kind` | objects that the server has, as received by the watch |
//! | `kube_runtime_store_objects` | gauge | `controller`, `kind` | objects in the store of the controller |
//!
//! `kube_client::client::middleware::MetricsLayer` lists the `rest_client_*` metrics, `kube_operator::leader_election` those of electors.
//!
//! # Rules
//!
//! - Install the recorder before the first controller runs: it looks its metrics up then, once.
//! - All counters and gauges exist from then on, with the value 0, so that `rate()` sees the first failure.
//! - `controller`, and `name` of a queue, is the name of the controller: see [`Config::name`](crate::Config::name). Controllers of one
//!   process have different names, so each time series has one writer. When a controller ends, its gauges become 0.
//! - Gauges of ages and of running times are set every 5 s, and for an idle controller after 1/8 of the time that it is idle. Call
//!   [`refresh`] before an export for exact values.
//! - Only what a [`Controller`](crate::Controller) watches by itself has watch metrics, not the streams that a program passes to it.
//!
//! ```
//! use futures::StreamExt;
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use kube_client::{Api, Client};
//! use kube_runtime::{Controller, controller::Action, watcher};
//! use std::{convert::Infallible, sync::Arc};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let client = Client::new(kube_testserver::ApiServer::new(), "default");
//! # let map: ConfigMap = serde_json::from_str(r#"{"metadata":{"name":"a"}}"#)?;
//! # Api::default_namespaced(client.clone()).create(&Default::default(), &map).await?;
//! // A program installs an exporter, such as that of metrics-exporter-prometheus.
//! let recorder = metrics_util::debugging::DebuggingRecorder::new();
//! let recorded = recorder.snapshotter();
//! let _guard = metrics::set_default_local_recorder(&recorder);
//! Controller::new(Api::<ConfigMap>::all(client), watcher::Config::default())
//!     .run(async |_, _| Ok::<_, Infallible>(Action::await_change()), |_, _, _| Action::retry(), Arc::new(()))
//!     .take(1)
//!     .for_each(async |_| kube_runtime::metrics::refresh())
//!     .await;
//! let recorded = recorded.snapshot().into_vec();
//! assert!(recorded.iter().any(|(key, ..)| key.key().name() == "controller_runtime_reconcile_total"));
//! # Ok(())
//! # }
//! ```

use crate::measure::{QUEUE_DURATION, TIME, WORK_DURATION};

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
    crate::measure::refresh_all();
}
