//! Requests over in-memory connections to scripted servers.

mod gate;
mod http1;
mod http2;
mod memory_io;
mod pool;

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, Uri, Version};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper_util::rt::TokioExecutor;
use tokio::io::DuplexStream;
use tower::util::Oneshot;
use tower::{BoxError, ServiceExt};

pub(crate) use memory_io::MemoryIo;

use super::pool::ResponseBody;
use super::{DeadlineConnector, NegotiatedVersion, SharedExecutor, Transport, boxed};
use crate::config::Config;

type TestBody = UnsyncBoxBody<Bytes, std::io::Error>;
type SendFuture = Oneshot<Transport<TestBody>, Request<TestBody>>;

/// A transport whose connections lead to servers in memory.
struct TestClient {
    transport: Transport<TestBody>,
    connections: Arc<AtomicUsize>,
    epoch: Arc<AtomicU64>,
}

impl TestClient {
    /// Calls `serve` for each connection with its index and the server's end.
    fn new<F, S>(near: fn(DuplexStream) -> MemoryIo, serve: F) -> Self
    where
        F: Fn(usize, DuplexStream) -> S + Clone + Send + Sync + 'static,
        S: Future<Output = ()> + Send + 'static,
    {
        let connections = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&connections);
        let connector = boxed(tower::service_fn(move |_: Uri| {
            let (near_io, far) = tokio::io::duplex(1 << 16);
            tokio::spawn(serve(counter.fetch_add(1, Ordering::SeqCst), far));
            std::future::ready(Ok::<_, BoxError>(near(near_io)))
        }));
        Self::with_connectors([connector.clone(), connector], connections)
    }

    fn with_connectors(connectors: [super::BoxConnector; 2], connections: Arc<AtomicUsize>) -> Self {
        let config = Config::new(Uri::from_static("https://h"));
        let epoch = Arc::new(AtomicU64::new(0));
        let now = Arc::clone(&epoch);
        let transport = Transport::new(
            config.cluster_url.clone(),
            connectors.map(|connector| DeadlineConnector::new(&config, connector)),
            SharedExecutor::new(TokioExecutor::new()),
            move || now.load(Ordering::SeqCst),
        );
        Self { transport, connections, epoch }
    }

    fn send(&self, request: Request<TestBody>) -> SendFuture {
        self.transport.clone().oneshot(request)
    }

    fn get(&self, path: &str) -> SendFuture {
        self.send(Request::get(format!("https://h{path}")).body(whole("")).unwrap())
    }

    fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

#[tokio::test(start_paused = true)]
async fn the_negotiated_version_of_a_pending_request_is_recorded() {
    for (near, expected) in [
        (MemoryIo::http1 as fn(DuplexStream) -> MemoryIo, Version::HTTP_11),
        (MemoryIo::http2, Version::HTTP_2),
    ] {
        // The server accepts requests and never responds.
        let client = TestClient::new(near, move |_, mut io| async move {
            if expected == Version::HTTP_2 {
                let mut server = h2::server::handshake(io).await.unwrap();
                let mut held = Vec::new();
                while let Some(Ok(request)) = server.accept().await {
                    held.push(request);
                }
            } else {
                while tokio::io::AsyncReadExt::read_u8(&mut io).await.is_ok() {}
            }
        });
        for _ in 0..2 {
            let negotiated = NegotiatedVersion::default();
            let mut request = Request::get("https://h/late").body(whole("")).unwrap();
            request.extensions_mut().insert(negotiated.clone());
            assert_eq!(negotiated.get(), None);
            let sending = client.send(request);
            assert!(tokio::time::timeout(Duration::from_millis(50), sending).await.is_err());
            assert_eq!(negotiated.get(), Some(expected));
        }
    }
}

fn whole(text: impl Into<Bytes>) -> TestBody {
    Full::new(text.into()).map_err(|never| match never {}).boxed_unsync()
}

async fn text(response: Response<ResponseBody>) -> Result<String, BoxError> {
    Ok(String::from_utf8(response.into_body().collect().await?.to_bytes().into())?)
}
