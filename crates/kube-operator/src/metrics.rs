//! The `/metrics` endpoint: everything that was recorded by the `metrics` facade, for Prometheus.
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! use kube_operator::metrics::MetricsEndpoint;
//! use tower::ServiceExt;
//!
//! let endpoint = MetricsEndpoint::install()?;
//! metrics::counter!("pages_total").increment(2);
//! let app = endpoint.router(); // merge it with other routes and serve it
//! tokio::spawn(endpoint.upkeep());
//!
//! let response = app.oneshot(http::Request::get("/metrics").body(axum::body::Body::empty())?).await?;
//! assert_eq!(response.headers()["content-type"], "text/plain; version=0.0.4; charset=utf-8");
//! let body = axum::body::to_bytes(response.into_body(), 1 << 20).await?;
//! assert!(String::from_utf8_lossy(&body).contains("pages_total 2"));
//! # Ok::<_, Box<dyn std::error::Error>>(()) }).unwrap();
//! ```
//!
//! On Linux, the metrics `process_*` are those of Go programs: CPU time, memory, file descriptors, threads and start time.
//!
//! The time series with the label `controller` of a controller or cache that a [manager](crate::manager::Manager) has removed disappear
//! with it; others by [`MetricsEndpoint::remove_controller`].
//!
//! Histograms have the buckets of controller-runtime and client-go, so that quantiles on existing dashboards stay comparable:
//!
//! | metric | buckets |
//! |---|---|
//! | `controller_runtime_reconcile_time_seconds` | 40 from 5 ms to 60 s |
//! | `workqueue_queue_duration_seconds`, `workqueue_work_duration_seconds` | powers of ten from 10 ns to 1000 s |
//! | `rest_client_*_duration_seconds` | 5 ms to 60 s |
//! | `rest_client_*_size_bytes` | 64 B to 16 MiB |
//! | all others, such as `controller_runtime_webhook_latency_seconds` | Prometheus' default: 5 ms to 10 s |

mod process;
mod recorder;

use std::time::Duration;

use parking_lot::Mutex;

use axum::{Router, response::IntoResponse, routing::get};
use http::header;
use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};
use recorder::ControllerRecorder;

/// The content type of the text format 0.0.4, which every Prometheus accepts.
const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";
/// How often samples of histograms move into their buckets when nothing scrapes.
const UPKEEP: Duration = Duration::from_secs(5);

const DEFAULT_BUCKETS: &[f64] = &[0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

/// The recorder that this module installed.
static INSTALLED: Mutex<Option<ControllerRecorder>> = Mutex::new(None);

/// The recorded metrics as text, over HTTP. Cloning is cheap.
#[derive(Clone)]
pub struct MetricsEndpoint {
    recorder: Installed,
}

#[derive(Clone)]
enum Installed {
    Ours(ControllerRecorder),
    /// The program has made it.
    Other(PrometheusHandle),
}

/// No recorder could be installed.
#[derive(Debug, thiserror::Error)]
#[error(
    "the metrics endpoint cannot record metrics: {0}. If the program installs a recorder itself, use MetricsEndpoint::new with its handle"
)]
pub struct InstallError(#[source] Box<dyn std::error::Error + Send + Sync>);

impl MetricsEndpoint {
    /// Installs the recorder of the process, with the buckets above. Later calls return the same endpoint.
    ///
    /// Call it before controllers run and webhooks are served: what was recorded earlier is lost, as are the help texts.
    ///
    /// # Errors
    /// If the program has installed another recorder: use [`new`](Self::new) then.
    pub fn install() -> Result<Self, InstallError> {
        let mut installed = INSTALLED.lock();
        if let Some(recorder) = &*installed {
            return Ok(Self { recorder: Installed::Ours(recorder.clone()) });
        }
        let recorder = ControllerRecorder::new(|| builder().map(PrometheusBuilder::build_recorder))
            .map_err(|error| InstallError(error.into()))?;
        metrics::set_global_recorder(recorder.clone()).map_err(|error| InstallError(error.into()))?;
        // A client that was made before has described its metrics to no recorder.
        let _ = kube_client::client::middleware::MetricsLayer::new();
        process::describe();
        *installed = Some(recorder.clone());
        Ok(Self { recorder: Installed::Ours(recorder) })
    }

    /// Serves the metrics of a recorder that the program has made; its buckets are the program's own, or those of [`builder`]. They stay
    /// when controllers are removed.
    pub fn new(handle: PrometheusHandle) -> Self {
        Self { recorder: Installed::Other(handle) }
    }

    /// Drops all time series whose label `controller` has this value, and their memory. For a program that ends controllers without a
    /// [manager](crate::manager::Manager), after their output has ended: what a running one records afterwards is lost.
    ///
    /// A controller of the same name that starts later counts from 0, as after a restart of the process. Does nothing for an endpoint that
    /// was made by [`new`](Self::new).
    ///
    /// ```
    /// use kube_operator::metrics::MetricsEndpoint;
    ///
    /// let endpoint = MetricsEndpoint::install()?;
    /// metrics::counter!("pages_total", "controller" => "pages").increment(2);
    /// assert!(endpoint.render().contains("pages_total"));
    /// endpoint.remove_controller("pages");
    /// assert!(!endpoint.render().contains("pages_total"));
    /// # Ok::<_, kube_operator::metrics::InstallError>(())
    /// ```
    pub fn remove_controller(&self, name: &str) {
        if let Installed::Ours(recorder) = &self.recorder {
            recorder.remove(name);
        }
    }

    /// `/metrics`, to be merged with other routes.
    pub fn router(&self) -> Router {
        let endpoint = self.clone();
        Router::new().route(
            "/metrics",
            get(async move || ([(header::CONTENT_TYPE, TEXT)], endpoint.render()).into_response()),
        )
    }

    /// The metrics as text, with the ages and running times of controllers and, on Linux, the use of this process at this moment.
    pub fn render(&self) -> String {
        process::refresh();
        kube_runtime::metrics::refresh();
        match &self.recorder {
            Installed::Ours(recorder) => recorder.render(),
            Installed::Other(handle) => handle.render(),
        }
    }

    /// Bounds the memory of histograms while nothing scrapes: spawn it, or poll it beside the server. Never ends.
    pub async fn upkeep(self) {
        loop {
            tokio::time::sleep(UPKEEP).await;
            match &self.recorder {
                Installed::Ours(recorder) => recorder.run_upkeep(),
                Installed::Other(handle) => handle.run_upkeep(),
            }
        }
    }
}

impl std::fmt::Debug for MetricsEndpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MetricsEndpoint").finish_non_exhaustive()
    }
}

/// Drops the time series of a controller or a cache that has ended, if the recorder is the one that [`MetricsEndpoint::install`] has
/// installed.
pub(crate) fn remove_controller(name: &str) {
    if let Some(recorder) = &*INSTALLED.lock() {
        recorder.remove(name);
    }
}

/// A builder with the buckets of the [module](self), for a program that installs its recorder itself or adds labels to it.
///
/// # Errors
/// Never in practice: the buckets are constants, none of which is empty.
pub fn builder() -> Result<PrometheusBuilder, BuildError> {
    let mut builder = PrometheusBuilder::new().set_buckets(DEFAULT_BUCKETS)?;
    for (metric, buckets) in kube_runtime::metrics::BUCKETS {
        builder = builder.set_buckets_for_metric(Matcher::Full((*metric).to_owned()), buckets)?;
    }
    Ok(builder)
}

#[cfg(test)]
#[path = "metrics_tests.rs"]
pub(crate) mod tests;
