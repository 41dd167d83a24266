//! Limits on connecting, reading and writing, around any connector.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use tower::BoxError;
use tower_service::Service;

use super::io::DeadlineIo;
use crate::config::{Config, host_of};

/// Wraps a connector: connecting, handshakes included, may take so long, and so may silence afterwards.
#[derive(Clone, Debug)]
pub(crate) struct DeadlineConnector<C> {
    inner: C,
    limits: Limits,
}

/// How long things may take; `None` is for ever.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Limits {
    pub(super) connect: Option<Duration>,
    pub(super) read: Option<Duration>,
    pub(super) write: Option<Duration>,
    pub(super) write_resets_read: bool,
}

impl<C> DeadlineConnector<C> {
    /// The limits that `config` sets, around `inner`.
    pub(crate) fn of(config: &Config, inner: C) -> Self {
        let limits = Limits {
            connect: config.connect_timeout,
            read: config.read_timeout,
            write: config.write_timeout,
            write_resets_read: config.reset_reader_on_write,
        };
        Self { inner, limits }
    }
}

impl<C> Service<Uri> for DeadlineConnector<C>
where
    C: Service<Uri>,
    C::Error: Into<BoxError>,
    C::Future: Send + 'static,
{
    type Response = DeadlineIo<C::Response>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, target: Uri) -> Self::Future {
        let limits = self.limits;
        let host = host_of(&target);
        let connecting = self.inner.call(target);
        Box::pin(async move {
            let connected = match limits.connect {
                Some(limit) => tokio::time::timeout(limit, connecting)
                    .await
                    .map_err(|_| ConnectError::TooSlow { host: host.clone(), limit })?,
                None => connecting.await,
            };
            let io = connected.map_err(|err| ConnectError::Failed { host, cause: err.into() })?;
            Ok(DeadlineIo::new(io, limits))
        })
    }
}

/// Why there is no connection, and to whom.
#[derive(Debug, thiserror::Error)]
enum ConnectError {
    #[error("connecting to {host} took longer than {limit:?}")]
    TooSlow { host: String, limit: Duration },
    #[error("cannot connect to {host}")]
    Failed {
        host: String,
        #[source]
        cause: BoxError,
    },
}

#[cfg(test)]
mod tests {
    use tower::{ServiceExt, service_fn};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn connecting_for_ever_is_an_error_that_names_the_host() {
        let never = service_fn(|_: Uri| std::future::pending::<Result<(), BoxError>>());
        let config = Config::new(Uri::from_static("https://h:1"));
        let connector = DeadlineConnector::of(&config, never);
        let started = tokio::time::Instant::now();
        let err = connector.oneshot(Uri::from_static("https://h:1/api")).await.err().unwrap();
        assert_eq!(started.elapsed(), Duration::from_secs(30));
        assert_eq!(err.to_string(), "connecting to h:1 took longer than 30s");
    }
}
