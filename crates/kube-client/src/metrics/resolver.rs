//! DNS lookups, timed.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper_util::client::legacy::connect::dns::{GaiAddrs, GaiResolver, Name};
use metrics::histogram;
use tokio::time::Instant;
use tower_service::Service;

use super::enabled::DNS;

/// The system's resolver. It is not called for hosts that are IP addresses.
#[derive(Clone, Debug)]
pub(crate) struct Resolver(GaiResolver);

impl Resolver {
    pub(crate) fn new() -> Self {
        Self(GaiResolver::new())
    }
}

impl Service<Name> for Resolver {
    type Response = GaiAddrs;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<GaiAddrs>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let host = name.to_string();
        let looking = self.0.call(name);
        let started = Instant::now();
        Box::pin(async move {
            let found = looking.await;
            histogram!(DNS, "host" => host).record(started.elapsed());
            found
        })
    }
}

#[cfg(test)]
mod tests {
    use metrics_util::debugging::{DebugValue, DebuggingRecorder};

    use super::*;

    #[tokio::test]
    async fn each_lookup_is_recorded_by_host() {
        let recorder = DebuggingRecorder::new();
        let recorded = recorder.snapshotter();
        let _guard = metrics::set_default_local_recorder(&recorder);
        Resolver::new().call("localhost".parse().unwrap()).await.unwrap();
        let all = recorded.snapshot().into_vec();
        let (key, _, _, value) = &all[0];
        assert_eq!(key.key().name(), "rest_client_dns_resolution_duration_seconds");
        assert_eq!(key.key().labels().next().unwrap().value(), "localhost");
        assert!(matches!(value, DebugValue::Histogram(times) if times.len() == 1));
    }
}
