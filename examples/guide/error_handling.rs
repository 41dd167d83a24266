//! Chapter "Error handling and backoff".

use super::prelude::*;

fn without_backoff(api: Api<MyResource>, wc: watcher::Config) -> impl Stream {
    // ✗ Without backoff, errors cause a tight retry loop
    let stream = watcher(api, wc);
    stream
}

fn with_default_backoff(api: Api<MyResource>, wc: watcher::Config) -> impl Stream {
    // ✓ Automatic retry with exponential backoff
    let stream = watcher(api, wc).default_backoff();
    stream
}

fn with_custom_backoff(api: Api<MyResource>, wc: watcher::Config) -> impl Stream {
    use backon::ExponentialBuilder;
    use kube::runtime::watcher::ExponentialBackoff;

    let stream = watcher(api, wc).backoff(ExponentialBackoff::from(
        ExponentialBuilder::default()
            .with_min_delay(Duration::from_millis(500))
            .with_max_delay(Duration::from_secs(30)),
    ));
    stream
}

mod errors {
    use super::*;
    #[derive(Debug, thiserror::Error)]
    enum Error {
        #[error("Kubernetes API error: {0}")]
        KubeApi(#[from] kube::Error),

        #[error("Missing spec field: {0}")]
        MissingField(String),

        #[error("External service error: {0}")]
        External(String),
    }
}

mod policy {
    use super::*;
    fn error_policy(obj: Arc<MyResource>, err: &Error, ctx: Arc<Context>) -> Action {
        tracing::error!(?err, "reconcile failed");

        match err {
            // Transient error: retry
            Error::KubeApi(_) => Action::requeue(Duration::from_secs(5)),
            // Permanent error: don't retry
            Error::MissingField(_) => Action::await_change(),
        }
    }
}

fn retries(config: Config) -> anyhow::Result<()> {
    use kube::client::{Body, ConfigExt};
    use kube::client::retry::RetryPolicy;
    use tower::{ServiceBuilder, retry::RetryLayer, buffer::BufferLayer};

    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .option_layer(config.auth_layer()?)
        .layer(BufferLayer::new(1024))
        .layer(RetryLayer::new(RetryPolicy::default()))
        // ...
        .service_fn(|request: http::Request<Body>| async { Ok::<_, tower::BoxError>(http::Response::new(Body::empty())) });
    Ok(())
}

async fn timeouts(api: Api<Pod>) -> anyhow::Result<()> {
    // First ? unwraps the timeout Result<T, Elapsed>
    // Second ? unwraps the API Result<Pod, kube::Error>
    let pod = tokio::time::timeout(
        Duration::from_secs(10),
        api.get("my-pod"),
    ).await??;
    Ok(())
}
