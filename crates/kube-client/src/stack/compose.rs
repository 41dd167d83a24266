//! The stack: every layer between a client and the wire, in one list.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use http::header::USER_AGENT;
use http::{HeaderValue, Request, Response};
use http_body_util::BodyExt;
use hyper::rt::Executor;
use hyper_util::client::legacy::Client as HyperClient;
use hyper_util::client::legacy::connect::Connect;
use hyper_util::rt::TokioTimer;
use tokio::time::Instant;
use tower::retry::RetryLayer;
use tower::util::BoxService;
use tower::{BoxError, ServiceBuilder};

use super::ConfigExt;
use crate::auth::Credential;
use crate::body::Body;
use crate::config::Config;
use crate::connect::connector;
use crate::error::Error;
use crate::layer::{AuthLayer, ReauthLayer, RetryPolicy};
use crate::tls::{Backend, IdentityEpoch, Offer, Peer};
use crate::transport::{DeadlineConnector, ROOM, Spread, Upgrades};

/// The body of an answer, whatever layers it came through.
pub type DynBody = dyn http_body::Body<Data = Bytes, Error = BoxError> + Send + Unpin;

/// A whole stack, its type erased.
pub(crate) type DynService = BoxService<Request<Body>, Response<Box<DynBody>>, BoxError>;

/// Puts the stack for `config` together. Requests pass the layers from top to bottom, answers from bottom to top.
pub(crate) fn compose<E>(config: &Config, executor: E) -> Result<DynService, Error>
where
    E: Executor<Pin<Box<dyn Future<Output = ()> + Send>>> + Clone + Send + Sync + 'static,
{
    compose_by(Backend::usual(), config, executor)
}

/// With TLS by the library that is said.
pub(super) fn compose_by<E>(
    backend: Option<Backend>,
    config: &Config,
    executor: E,
) -> Result<DynService, Error>
where
    E: Executor<Pin<Box<dyn Future<Output = ()> + Send>>> + Clone + Send + Sync + 'static,
{
    let credential = Credential::plan(config).map_err(Error::Auth)?;
    let peer = Peer::Server { giver: credential.as_ref().and_then(Credential::giver) };
    let [usual, upgrading] = [Offer::Any, Offer::Http1].map(|offer| connector(backend, config, &peer, offer));
    layers(config, credential, executor, usual?, upgrading?)
}

fn layers<E, C>(
    config: &Config,
    credential: Option<Credential>,
    executor: E,
    connector: C,
    upgrading: C,
) -> Result<DynService, Error>
where
    E: Executor<Pin<Box<dyn Future<Output = ()> + Send>>> + Clone + Send + Sync + 'static,
    C: tower_service::Service<http::Uri> + Clone + Send + Sync + 'static,
    C::Error: Into<BoxError>,
    C::Future: Send + 'static,
    DeadlineConnector<C>: Connect,
{
    let connector = DeadlineConnector::of(config, connector);
    // A connection for an upgrade is used up by it; one that the server did not upgrade is not worth keeping.
    let upgrading =
        http(executor.clone()).pool_max_idle_per_host(0).build(DeadlineConnector::of(config, upgrading));
    let giver = credential.as_ref().and_then(Credential::giver);
    let epoch = IdentityEpoch::of(&config.auth_info, giver)?;
    let usual = Spread::new(
        move || http(executor.clone()).build(connector.clone()),
        move || epoch.current(Instant::now()),
    );
    let retry = config.default_retry.then(RetryPolicy::server_retry).map(RetryLayer::new);
    let service = ServiceBuilder::new()
        .map_response(|response: Response<_>| response.map(erase))
        .layer(config.trace_layer())
        .layer(super::decompress::layer(config))
        .option_layer(retry)
        .layer(config.extra_headers_layer()?)
        .map_request(name_ourselves)
        .layer(ReauthLayer)
        .option_layer(credential.map(AuthLayer::new))
        .layer(config.base_uri_layer())
        .layer(super::measured::layer())
        .layer(config.deadline_layer())
        .map_err(BoxError::from)
        .service(Upgrades::new(usual, upgrading));
    Ok(BoxService::new(service))
}

/// How much of one answer may lie here unread. Beyond it the server waits until it is read.
const STREAM_WINDOW: u32 = 2 << 20;

/// How large one frame of an answer may be. The protocol's least of 16 KiB makes several of each large object, and each wakes its
/// reader; much more would hold up small answers behind large ones.
const FRAME: u32 = 256 << 10;

/// HTTP over pooled connections. HTTP/2 connections are probed even while idle, so that a dead one is gone within 45 s.
///
/// A connection takes in as much as all of its answers together: were it less, a few watches that nobody reads would leave no room
/// for the others.
fn http<E>(executor: E) -> hyper_util::client::legacy::Builder
where
    E: Executor<Pin<Box<dyn Future<Output = ()> + Send>>> + Clone + Send + Sync + 'static,
{
    let mut builder = HyperClient::builder(executor);
    builder
        .timer(TokioTimer::new())
        .pool_timer(TokioTimer::new())
        .http2_keep_alive_interval(Duration::from_secs(30))
        .http2_keep_alive_timeout(Duration::from_secs(15))
        .http2_keep_alive_while_idle(true)
        .http2_max_frame_size(FRAME)
        .http2_initial_stream_window_size(STREAM_WINDOW)
        .http2_initial_connection_window_size(STREAM_WINDOW * ROOM);
    builder
}

/// Audit logs and priority rules of the server go by it. Who has set a name of their own keeps it.
fn name_ourselves(mut request: Request<Body>) -> Request<Body> {
    let name = HeaderValue::from_static(concat!("kube-client/", env!("CARGO_PKG_VERSION")));
    request.headers_mut().entry(USER_AGENT).or_insert(name);
    request
}

fn erase<B>(body: B) -> Box<DynBody>
where
    B: http_body::Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Into<BoxError>,
{
    Box::new(body.map_err(Into::into))
}

#[cfg(test)]
mod tests {
    use hyper_util::client::legacy::connect::{Connected, Connection};
    use hyper_util::rt::{TokioExecutor, TokioIo};
    use tokio::io::DuplexStream;
    use tower::ServiceExt;

    use super::*;

    /// The near end of a connection in memory; whoever is at the far end is known to speak HTTP/2.
    struct NearEnd(TokioIo<DuplexStream>);

    impl Connection for NearEnd {
        fn connected(&self) -> Connected {
            Connected::new().negotiated_h2()
        }
    }

    impl hyper::rt::Read for NearEnd {
        fn poll_read(
            mut self: Pin<&mut Self>,
            cx: &mut std::task::Context<'_>,
            buf: hyper::rt::ReadBufCursor<'_>,
        ) -> std::task::Poll<std::io::Result<()>> {
            Pin::new(&mut self.0).poll_read(cx, buf)
        }
    }

    impl hyper::rt::Write for NearEnd {
        fn poll_write(
            mut self: Pin<&mut Self>,
            cx: &mut std::task::Context<'_>,
            buf: &[u8],
        ) -> std::task::Poll<std::io::Result<usize>> {
            Pin::new(&mut self.0).poll_write(cx, buf)
        }

        fn poll_flush(
            mut self: Pin<&mut Self>,
            cx: &mut std::task::Context<'_>,
        ) -> std::task::Poll<std::io::Result<()>> {
            Pin::new(&mut self.0).poll_flush(cx)
        }

        fn poll_shutdown(
            mut self: Pin<&mut Self>,
            cx: &mut std::task::Context<'_>,
        ) -> std::task::Poll<std::io::Result<()>> {
            Pin::new(&mut self.0).poll_shutdown(cx)
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_falls_silent_is_noticed_within_a_minute() {
        let (held, mut holding) = tokio::sync::mpsc::unbounded_channel();
        let connector = tower::service_fn(move |_: http::Uri| {
            let (near, far) = tokio::io::duplex(1 << 20);
            // Kept open and never read from: packets vanish.
            held.send(far).expect("invariant: the receiver lives as long as the test");
            async move { Ok::<_, BoxError>(NearEnd(TokioIo::new(near))) }
        });
        let config = Config::new(http::Uri::from_static("http://h"));
        let service = layers(&config, None, TokioExecutor::new(), connector.clone(), connector).unwrap();
        let started = Instant::now();
        let request = Request::get("/version").body(Body::empty()).unwrap();
        assert!(service.oneshot(request).await.is_err());
        assert!((30..=60).contains(&started.elapsed().as_secs()), "{:?}", started.elapsed());
        assert!(holding.recv().await.is_some());
    }

    #[test]
    fn a_name_of_ones_own_is_kept() {
        let named = name_ourselves(Request::new(Body::empty()));
        assert!(named.headers()[USER_AGENT].to_str().unwrap().starts_with("kube-client/5."));
        let own = Request::get("/").header(USER_AGENT, "own").body(Body::empty()).unwrap();
        assert_eq!(name_ourselves(own).headers()[USER_AGENT], "own");
    }
}
