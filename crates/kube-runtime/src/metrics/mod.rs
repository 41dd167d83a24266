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
//! | `kube_runtime_queue_lanes` | gauge | `controller` | lanes of a fair queue with objects that wait or run; 0 without lanes |
//! | `kube_runtime_queue_deepest_lane_objects` | gauge | `controller` | objects that are due in the lane with most of them |
//! | `kube_runtime_queue_longest_lane_wait_seconds` | gauge | `controller` | how long the first object of the lane has been due that waits longest |
//! | `kube_runtime_watch_events_total` | counter | `controller`, `kind`, `type` | received events; `type` is `added`, `modified`, `deleted` or `bookmark` |
//! | `kube_runtime_watch_errors_total` | counter | `controller`, `kind` | failed lists and watches, and states of objects that cannot be decoded |
//! | `kube_runtime_watch_restarts_total` | counter | `controller`, `kind` | watch requests after the first one of each watch |
//! | `kube_runtime_watch_relists_total` | counter | `controller`, `kind` | lists after the first one of each watch |
//! | `kube_runtime_watch_received_bytes_total` | counter | `controller`, `kind` | bytes of lists and watches, after decompression |
//! | `kube_runtime_watch_last_event_age_seconds` | gauge | `controller`, `kind` | time since the server sent anything but an error, of the longest silent watch |
//! | `kube_runtime_watch_objects` | gauge | `controller`, `kind` | objects that the server has, as received by the watch |
//! | `kube_runtime_watch_undecodable_objects` | gauge | `controller`, `kind` | objects whose last state cannot be decoded: `failing` of a monitor names them |
//! | `kube_runtime_store_objects` | gauge | `controller`, `kind` | objects in the store of the controller |
//! | `kube_runtime_kind_served` | gauge | `kind` | 1 while the server serves a kind that [`ServedKinds`](crate::served::ServedKinds) waits for, such as `Page.example.com`; else 0 |
//!
//! `kube_client::client::middleware::MetricsLayer` lists the `rest_client_*` metrics, `kube_operator::leader_election` those of electors.
//!
//! # Rules
//!
//! - Install the recorder before the first controller runs: it looks its metrics up then, once.
//! - All counters and gauges exist from then on, with the value 0, so that `rate()` sees the first failure.
//! - `controller`, and `name` of a queue, is the name of the controller: see [`Config::name`](crate::Config::name). Controllers of one
//!   process have different names, so each time series has one writer. When a controller ends, its gauges become 0.
//! - Those of one name that [share workers](crate::Controller::share_workers), such as one for each of many clusters, are one: counters and
//!   gauges of numbers add up, gauges of times and ages have the longest, and the limit of running reconciles is that of the workers.
//! - Gauges of ages and of running times are set every 5 s, and for an idle controller after 1/8 of the time that it is idle. Call
//!   [`refresh`] before an export for exact values.
//! - What a [`Controller`](crate::Controller) watches by itself has watch metrics, and what a
//!   [`WatchMonitor`](crate::watcher::WatchMonitor) shows; other streams of a program have none.
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

// - `controller`, `watch`: the metrics of one controller and watch, looked up once; `event`: what is recorded. `kinds`: those of kinds.
// - `level`, `together`: gauges of several controllers with one name.
// - `recorded`: the guard around the recorder. `names`: their names and descriptions. `refresh`: gauges that change with time alone.
//   `export`: what an exporter needs.
// - `disabled`: without the feature `metrics`, all of these are empty.

#[cfg(feature = "metrics")]
mod controller;
mod event;
#[cfg(feature = "metrics")]
mod export;
#[cfg(feature = "metrics")]
mod kinds;
#[cfg(feature = "metrics")]
mod level;
#[cfg(feature = "metrics")]
mod names;
#[cfg(feature = "metrics")]
mod recorded;
#[cfg(feature = "metrics")]
mod refresh;
#[cfg(feature = "metrics")]
mod together;
#[cfg(feature = "metrics")]
mod watch;

#[cfg(feature = "metrics")]
pub use export::{BUCKETS, refresh};

pub(crate) use event::{Finished, LaneMeasurement, Refresh, Subject, WatchMeasurement};
#[cfg(feature = "metrics")]
pub(crate) use {
    controller::ControllerMetrics,
    kinds::kind_served,
    names::describe,
    refresh::{ENABLED, register, ticking, unregister},
    together::Together,
    watch::WatchMetrics,
};

#[cfg(not(feature = "metrics"))]
mod disabled;
#[cfg(not(feature = "metrics"))]
pub(crate) use disabled::*;
