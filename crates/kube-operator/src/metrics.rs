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
//! Histograms have the buckets of controller-runtime and client-go, so that quantiles on existing dashboards stay comparable:
//!
//! | metric | buckets |
//! |---|---|
//! | `controller_runtime_reconcile_time_seconds` | 39 from 5 ms to 60 s |
//! | `workqueue_queue_duration_seconds`, `workqueue_work_duration_seconds` | powers of ten from 10 ns to 1000 s |
//! | `rest_client_*_duration_seconds` | 5 ms to 60 s |
//! | `rest_client_*_size_bytes` | 64 B to 16 MiB |
//! | all others, such as `controller_runtime_webhook_latency_seconds` | Prometheus' default: 5 ms to 10 s |

use std::{sync::Mutex, time::Duration};

use axum::{Router, response::IntoResponse, routing::get};
use http::header;
use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};

/// The content type of the text format 0.0.4, which every Prometheus accepts.
const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";
/// How often samples of histograms move into their buckets when nothing scrapes.
const UPKEEP: Duration = Duration::from_secs(5);

const DEFAULT_BUCKETS: &[f64] = &[0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];
const RECONCILE_BUCKETS: &[f64] = &[
    0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.25,
    1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 15.0, 20.0, 25.0, 30.0, 40.0,
    50.0, 60.0,
];
const QUEUE_BUCKETS: &[f64] = &[1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0, 1000.0];
const CLIENT_BUCKETS: &[f64] = &[0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0];
const SIZE_BUCKETS: &[f64] = &[
    64.0,
    256.0,
    512.0,
    1024.0,
    4096.0,
    16_384.0,
    65_536.0,
    262_144.0,
    1_048_576.0,
    4_194_304.0,
    16_777_216.0,
];

/// The recorder that this module installed.
static INSTALLED: Mutex<Option<PrometheusHandle>> = Mutex::new(None);

/// The recorded metrics as text, over HTTP. Cloning is cheap.
#[derive(Clone)]
pub struct MetricsEndpoint {
    handle: PrometheusHandle,
}

/// No recorder could be installed.
#[derive(Debug, thiserror::Error)]
#[error(
    "the metrics endpoint cannot record metrics: {0}. If the program installs a recorder itself, use MetricsEndpoint::new with its handle"
)]
pub struct InstallError(#[source] BuildError);

impl MetricsEndpoint {
    /// Installs the recorder of the process, with the buckets above. Later calls return the same endpoint.
    ///
    /// # Errors
    /// If the program has installed another recorder: use [`new`](Self::new) then.
    pub fn install() -> Result<Self, InstallError> {
        let mut installed = INSTALLED.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(handle) = &*installed {
            return Ok(Self { handle: handle.clone() });
        }
        let handle = builder().and_then(PrometheusBuilder::install_recorder).map_err(InstallError)?;
        *installed = Some(handle.clone());
        Ok(Self { handle })
    }

    /// Serves the metrics of a recorder that the program has made; its buckets are the program's own, or those of [`builder`].
    pub fn new(handle: PrometheusHandle) -> Self {
        Self { handle }
    }

    /// `/metrics`, to be merged with other routes.
    pub fn router(&self) -> Router {
        let handle = self.handle.clone();
        Router::new().route(
            "/metrics",
            get(async move || ([(header::CONTENT_TYPE, TEXT)], handle.render()).into_response()),
        )
    }

    /// The metrics as text.
    pub fn render(&self) -> String {
        self.handle.render()
    }

    /// Bounds the memory of histograms while nothing scrapes: spawn it, or poll it beside the server. Never ends.
    pub async fn upkeep(self) {
        loop {
            tokio::time::sleep(UPKEEP).await;
            self.handle.run_upkeep();
        }
    }
}

impl std::fmt::Debug for MetricsEndpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MetricsEndpoint").finish_non_exhaustive()
    }
}

/// A builder with the buckets of the [module](self), for a program that installs its recorder itself or adds labels to it.
///
/// # Errors
/// Never in practice: the buckets are constants, none of which is empty.
pub fn builder() -> Result<PrometheusBuilder, BuildError> {
    let full = |name: &str| Matcher::Full(name.to_owned());
    let mut builder = PrometheusBuilder::new()
        .set_buckets(DEFAULT_BUCKETS)?
        .set_buckets_for_metric(full("controller_runtime_reconcile_time_seconds"), RECONCILE_BUCKETS)?;
    for name in ["queue", "work"] {
        let name = full(&format!("workqueue_{name}_duration_seconds"));
        builder = builder.set_buckets_for_metric(name, QUEUE_BUCKETS)?;
    }
    for name in ["request", "rate_limiter", "dns_resolution"] {
        let name = full(&format!("rest_client_{name}_duration_seconds"));
        builder = builder.set_buckets_for_metric(name, CLIENT_BUCKETS)?;
    }
    for name in ["request", "response"] {
        builder =
            builder.set_buckets_for_metric(full(&format!("rest_client_{name}_size_bytes")), SIZE_BUCKETS)?;
    }
    Ok(builder)
}

#[cfg(test)]
#[path = "metrics_tests.rs"]
pub(crate) mod tests;
