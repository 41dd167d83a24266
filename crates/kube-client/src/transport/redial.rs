//! Dials anew while nothing answers.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use tokio::time::timeout;
use tower::{BoxError, ServiceExt};
use tower_service::Service;

use super::addresses::AnyAddress;
use super::boxed::{BoxConnector, boxed};
use crate::metrics::Resolver;

/// How long to wait for an answer before dialling anew. An unanswered SYN is repeated after 1, 3, 7, 15 and 31 s: a host that is back at
/// 8 s would not be asked before 15 s. With a new attempt, no gap is longer than 4 s. `docs/design/outages.md` says more.
pub(super) const ATTEMPT: Duration = Duration::from_secs(8);
/// As long as Linux tries: about two minutes. Usually, [`Config::connect_timeout`](crate::Config::connect_timeout) ends before.
const ATTEMPTS: usize = 16;

/// A TCP connector for http and https URLs that measures DNS lookups. Each attempt looks the name up anew, and dials all its addresses.
pub(crate) fn tcp_connector() -> BoxConnector {
    boxed(Redial::new(AnyAddress::new(Resolver::new())).map_response(|(_, stream)| stream))
}

/// Begins anew while there is neither a connection nor an error.
#[derive(Clone, Debug)]
pub(crate) struct Redial<C>(C);

impl<C> Redial<C> {
    pub(super) fn new(connector: C) -> Self {
        Self(connector)
    }
}

impl<C> Service<Uri> for Redial<C>
where
    C: Service<Uri, Error: Into<BoxError>, Future: Send> + Clone + Send + 'static,
{
    type Response = C::Response;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<C::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.0.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, target: Uri) -> Self::Future {
        let mut connector = self.0.clone();
        Box::pin(async move {
            for _ in 0..ATTEMPTS {
                if let Ok(connected) = timeout(ATTEMPT, connector.call(target.clone())).await {
                    return connected.map_err(Into::into);
                }
            }
            Err(io::Error::from(io::ErrorKind::TimedOut).into())
        })
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};
    use std::sync::Arc;

    use parking_lot::Mutex;
    use tokio::time::Instant;
    use tower::service_fn;

    use super::*;

    /// Connects to a host that drops what it receives until `back`. Returns the result, the seconds it took, and the number of attempts.
    async fn dialled(back: u64) -> (Result<(), BoxError>, u64, usize) {
        let (start, attempts) = (Instant::now(), Arc::new(Mutex::new(0)));
        let counted = Arc::clone(&attempts);
        let connector = service_fn(move |_: Uri| {
            *counted.lock() += 1;
            let answers = start.elapsed() >= Duration::from_secs(back);
            async move { if answers { Ok::<_, io::Error>(()) } else { pending().await } }
        });
        let result = Redial(connector).call("http://h".parse().unwrap()).await;
        let attempts = *attempts.lock();
        (result, start.elapsed().as_secs(), attempts)
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_host_is_dialled_anew_and_not_for_ever() {
        let (connected, seconds, attempts) = dialled(10).await;
        assert!(connected.is_ok() && (seconds, attempts) == (16, 3));
        let (error, seconds, attempts) = dialled(3600).await;
        let error = error.unwrap_err();
        let kind = error.downcast_ref::<io::Error>().map(io::Error::kind);
        assert_eq!((kind, seconds, attempts), (Some(io::ErrorKind::TimedOut), 128, 16));
    }

    #[tokio::test(start_paused = true)]
    async fn an_error_is_returned_at_once() {
        let refused =
            service_fn(|_: Uri| ready(Err::<(), _>(io::Error::from(io::ErrorKind::ConnectionRefused))));
        let begun = Instant::now();
        assert!(Redial(refused).call("http://h".parse().unwrap()).await.is_err());
        assert_eq!(begun.elapsed(), Duration::ZERO);
    }
}
