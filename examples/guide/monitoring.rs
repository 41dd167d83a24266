//! Chapter "Monitoring": logs, traces, metrics and health.

use super::prelude::*;
use axum::{Router, http::StatusCode, routing::get};

/// A placeholder for the types of a metrics library.
#[derive(Clone, Default)]
struct Metrics {
    reconcile_success: Count,
    reconcile_errors: Count,
    reconcile_duration: Histogram,
}

#[derive(Clone, Default)]
struct Count;

impl Count {
    fn inc(&self) {}
}

#[derive(Clone, Default)]
struct Histogram;

impl Histogram {
    fn observe(&self, seconds: f64) {}
}

struct MetricsContext {
    metrics: Metrics,
}

async fn reconcile<C>(obj: Arc<MyResource>, ctx: Arc<C>) -> Result<Action, Error> {
    Ok(Action::await_change())
}

fn error_policy<C>(obj: Arc<MyResource>, error: &Error, ctx: Arc<C>) -> Action {
    Action::await_change()
}

async fn health_and_metrics_server(reader: Store<MyResource>) {}

async fn result_metrics(api: Api<MyResource>, wc: watcher::Config, ctx: Arc<MetricsContext>) {
    let metrics = ctx.metrics.clone();
    Controller::new(api, wc)
        .run(reconcile, error_policy, ctx)
        .for_each(|result| {
            let metrics = metrics.clone();
            async move {
                match result {
                    Ok((obj_ref, _action)) => {
                        metrics.reconcile_success.inc();
                    }
                    Err(err) => {
                        metrics.reconcile_errors.inc();
                    }
                }
            }
        })
        .await;
}

mod duration_metrics {
    use super::*;
    use super::MetricsContext as Context;

    async fn reconcile(obj: Arc<MyResource>, ctx: Arc<Context>) -> Result<Action, Error> {
        let start = std::time::Instant::now();
        let result = reconcile_inner(&obj, &ctx).await;
        ctx.metrics.reconcile_duration.observe(start.elapsed().as_secs_f64());
        result
    }
}

fn readiness() {
    let (reader, writer) = reflector::store::<MyResource>();

    // Pass the reader to the health server
    let health_reader = reader.clone();
    tokio::spawn(async move {
        let app = Router::new()
            .route("/readyz", get(move || async move {
                match health_reader.wait_until_ready().await {
                    Ok(()) => (StatusCode::OK, "ready"),
                    Err(_) => (StatusCode::SERVICE_UNAVAILABLE, "not ready"),
                }
            }));
        let listener = tokio::net::TcpListener::bind("0.0.0.0:8080").await.unwrap();
        axum::serve(listener, app).await.unwrap();
    });
}

mod liveness {
    use super::*;

    use std::sync::atomic::{AtomicI64, Ordering};

    struct Context {
        client: Client,
        last_reconcile: AtomicI64, // Unix timestamp
    }

    async fn reconcile(obj: Arc<MyResource>, ctx: Arc<Context>) -> Result<Action, Error> {
        // reconcile logic...
        ctx.last_reconcile.store(
            jiff::Timestamp::now().as_second(),
            Ordering::Relaxed,
        );
        Ok(Action::requeue(Duration::from_secs(300)))
    }
}

async fn controller_with_health_server(api: Api<MyResource>, wc: watcher::Config, reader: Store<MyResource>, ctx: Arc<Context>) {
    // health + metrics server
    tokio::spawn(health_and_metrics_server(reader.clone()));

    // Run the Controller
    Controller::new(api, wc)
        .run(reconcile, error_policy, ctx)
        .for_each(|res| async move {
            match res {
                Ok(o) => tracing::info!("reconciled {:?}", o),
                Err(e) => tracing::error!("reconcile error: {:?}", e),
            }
        })
        .await;
}
