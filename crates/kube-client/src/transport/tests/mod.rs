//! Requests over connections in memory, against servers that do as they are told.

mod http1;
mod http2;
mod near_end;
mod places;

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, Uri, Version};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use tokio::io::DuplexStream;
use tower::util::Oneshot;
use tower::{BoxError, ServiceExt};

pub(crate) use near_end::NearEnd;

use super::service::Answer;
use super::{Carrier, DeadlineConnector, Transport, any};
use crate::config::Config;

type TestBody = UnsyncBoxBody<Bytes, std::io::Error>;
type Sent = Oneshot<Transport<TestBody>, Request<TestBody>>;

/// A transport whose connections lead to servers in memory.
struct Client {
    transport: Transport<TestBody>,
    connections: Arc<AtomicUsize>,
    epoch: Arc<AtomicU64>,
}

impl Client {
    /// `serve` gets the far end of each connection, and the number of those before it.
    fn of<F, S>(near: fn(DuplexStream) -> NearEnd, serve: F) -> Self
    where
        F: Fn(usize, DuplexStream) -> S + Clone + Send + Sync + 'static,
        S: Future<Output = ()> + Send + 'static,
    {
        let connections = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&connections);
        let connector = any(tower::service_fn(move |_: Uri| {
            let (near_io, far) = tokio::io::duplex(1 << 16);
            tokio::spawn(serve(counter.fetch_add(1, Ordering::SeqCst), far));
            std::future::ready(Ok::<_, BoxError>(near(near_io)))
        }));
        Self::by([connector.clone(), connector], connections)
    }

    fn by(connectors: [super::AnyConnector; 2], connections: Arc<AtomicUsize>) -> Self {
        let config = Config::new(Uri::from_static("https://h"));
        let epoch = Arc::new(AtomicU64::new(0));
        let now = Arc::clone(&epoch);
        let transport = Transport::new(
            config.cluster_url.clone(),
            connectors.map(|connector| DeadlineConnector::of(&config, connector)),
            Arc::new(|task| drop(tokio::spawn(task))),
            move || now.load(Ordering::SeqCst),
        );
        Self { transport, connections, epoch }
    }

    fn send(&self, request: Request<TestBody>) -> Sent {
        self.transport.clone().oneshot(request)
    }

    fn get(&self, path: &str) -> Sent {
        self.send(Request::get(format!("https://h{path}")).body(whole("")).unwrap())
    }

    fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

#[tokio::test(start_paused = true)]
async fn the_transport_tells_by_which_protocol_a_request_goes() {
    for (near, expected) in
        [(NearEnd::http1 as fn(DuplexStream) -> NearEnd, Version::HTTP_11), (NearEnd::http2, Version::HTTP_2)]
    {
        // It answers nothing.
        let client = Client::of(near, move |_, mut io| async move {
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
            let carrier = Carrier::default();
            let mut request = Request::get("https://h/late").body(whole("")).unwrap();
            request.extensions_mut().insert(carrier.clone());
            assert_eq!(carrier.version(), None);
            let sending = client.send(request);
            assert!(tokio::time::timeout(Duration::from_millis(50), sending).await.is_err());
            assert_eq!(carrier.version(), Some(expected));
        }
    }
}

fn whole(text: impl Into<Bytes>) -> TestBody {
    Full::new(text.into()).map_err(|never| match never {}).boxed_unsync()
}

async fn text(answer: Response<Answer>) -> Result<String, BoxError> {
    Ok(String::from_utf8(answer.into_body().collect().await?.to_bytes().into())?)
}
