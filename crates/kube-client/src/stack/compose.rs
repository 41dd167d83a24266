//! The stack: every layer between a client and its connections, in one list.

use std::future::Future;
use std::pin::Pin;

use bytes::Bytes;
use http::header::USER_AGENT;
use http::{HeaderValue, Request, Response};
use hyper::rt::Executor;
use tokio::time::Instant;
use tower::retry::RetryLayer;
use tower::{BoxError, ServiceBuilder, ServiceExt};
use tower_service::Service;

use super::ConfigExt;
use super::optional::{decompression_layer, metrics_layer};
use crate::auth::Credential;
use crate::body::Body;
use crate::config::{Config, without_credentials};
use crate::connect::server_connector;
use crate::error::Error;
use crate::layer::{AuthLayer, ProbeLayer, ReauthLayer, RedirectLayer, RetryPolicy};
use crate::tls::{Alpn, Backend, IdentityEpoch, Peer};
use crate::transport::{BoxConnector, DeadlineConnector, SharedExecutor, Transport};

/// The type-erased body of a response.
pub type DynBody = dyn http_body::Body<Data = Bytes, Error = BoxError> + Send + Unpin;

/// A complete stack. Clones share its connections, so each request may use its own clone.
pub(crate) trait Stack:
    Service<Request<Body>, Response = Response<Self::Body>, Error = BoxError, Future: Send + 'static>
    + Clone
    + Send
    + Sync
    + 'static
{
    /// The body of a response.
    type Body: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + Unpin + 'static;
}

impl<S, B> Stack for S
where
    S: Service<Request<Body>, Response = Response<B>, Error = BoxError, Future: Send + 'static>
        + Clone
        + Send
        + Sync
        + 'static,
    B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + Unpin + 'static,
{
    type Body = B;
}

/// Builds the stack for `config`. Requests pass the layers from top to bottom, responses from bottom to top.
pub(crate) fn compose<E>(config: &Config, executor: E) -> Result<impl Stack, Error>
where
    E: Executor<Pin<Box<dyn Future<Output = ()> + Send>>> + Clone + Send + Sync + 'static,
{
    compose_with(Backend::preferred(), config, executor)
}

/// Builds the stack with TLS by `backend`.
pub(super) fn compose_with<E>(
    backend: Option<Backend>,
    config: &Config,
    executor: E,
) -> Result<impl Stack, Error>
where
    E: Executor<Pin<Box<dyn Future<Output = ()> + Send>>> + Clone + Send + Sync + 'static,
{
    let credential = Credential::from_config(config).map_err(Error::Auth)?;
    let peer =
        Peer::Server { identity_provider: credential.as_ref().and_then(Credential::identity_provider) };
    let [any_version, http1] =
        [Alpn::Http2OrHttp1, Alpn::Http1].map(|alpn| server_connector(backend, config, &peer, alpn));
    layers(config, credential, executor, [any_version?, http1?])
}

fn layers<E>(
    config: &Config,
    credential: Option<Credential>,
    executor: E,
    connectors: [BoxConnector; 2],
) -> Result<impl Stack, Error>
where
    E: Executor<Pin<Box<dyn Future<Output = ()> + Send>>> + Clone + Send + Sync + 'static,
{
    let identity_provider = credential.as_ref().and_then(Credential::identity_provider);
    let epoch = IdentityEpoch::of(&config.auth_info, identity_provider)?;
    let transport = Transport::new(
        without_credentials(&config.cluster_url),
        connectors.map(|connector| DeadlineConnector::new(config, connector)),
        SharedExecutor::new(executor),
        move || epoch.current(Instant::now()),
    );
    above(config, credential, transport)
}

/// Builds the stack for `config` over a transport of the caller, such as a server in the same process. Settings of connections have no
/// effect.
pub(crate) fn compose_over(config: &Config, transport: impl Stack) -> Result<impl Stack, Error> {
    // Ready at once: the wait for the transport is part of the request, so that the time limits above include it.
    let ready = tower::service_fn(move |request| transport.clone().oneshot(request));
    above(config, Credential::from_config(config).map_err(Error::Auth)?, ready)
}

/// The layers above a transport.
fn above(
    config: &Config,
    credential: Option<Credential>,
    transport: impl Stack,
) -> Result<impl Stack, Error> {
    let retry = config.default_retry.then(RetryPolicy::server_retry).map(RetryLayer::new);
    // Only a credential that can be refreshed may succeed after a 401.
    let reauth = matches!(credential, Some(Credential::Refreshing(_))).then_some(ReauthLayer);
    let service = ServiceBuilder::new()
        .layer(config.trace_layer())
        .layer(config.warning_layer())
        .layer(decompression_layer(config))
        .option_layer(retry)
        .layer(config.extra_headers_layer()?)
        .map_request(with_user_agent)
        .layer(ProbeLayer::new(config.response_timeout))
        .option_layer(reauth)
        .option_layer(credential.map(AuthLayer::new))
        .layer(config.base_uri_layer())
        .layer(RedirectLayer)
        .layer(metrics_layer())
        .layer(config.deadline_layer())
        .service(transport);
    Ok(service)
}

/// Adds our User-Agent, which audit logs of the server show, unless the request has one.
fn with_user_agent(mut request: Request<Body>) -> Request<Body> {
    let name = HeaderValue::from_static(concat!("kube-client/", env!("CARGO_PKG_VERSION")));
    request.headers_mut().entry(USER_AGENT).or_insert(name);
    request
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use http_body_util::BodyExt;
    use hyper_util::rt::TokioExecutor;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

    use super::*;
    use crate::transport::{MemoryIo, boxed};

    #[tokio::test(start_paused = true)]
    async fn an_unresponsive_server_is_detected_within_a_minute() {
        let (held, mut holding) = tokio::sync::mpsc::unbounded_channel();
        let connector = tower::service_fn(move |_: http::Uri| {
            let (near, far) = tokio::io::duplex(1 << 20);
            // The connection stays open and is never read, as if packets were lost.
            held.send(far).expect("invariant: the receiver lives as long as the test");
            async move { Ok::<_, BoxError>(MemoryIo::http2(near)) }
        });
        let config = Config::new(http::Uri::from_static("http://h"));
        let connectors = [boxed(connector.clone()), boxed(connector)];
        let service = layers(&config, None, TokioExecutor::new(), connectors).unwrap();
        let started = Instant::now();
        let request = Request::get("/version").body(Body::empty()).unwrap();
        assert!(service.oneshot(request).await.is_err());
        assert!((30..=60).contains(&started.elapsed().as_secs()), "{:?}", started.elapsed());
        assert!(holding.recv().await.is_some());
    }

    /// Responds to one request, and closes the connection at the second one without a response. Later connections respond to all.
    fn closing_first_connection(http2: bool) -> BoxConnector {
        let connections = Arc::new(AtomicUsize::new(0));
        boxed(tower::service_fn(move |_: http::Uri| {
            let requests = if connections.fetch_add(1, Ordering::SeqCst) == 0 { 1 } else { usize::MAX };
            let (near, far) = tokio::io::duplex(1 << 16);
            tokio::spawn(async move {
                if http2 { serve_http2(far, requests).await } else { serve_http1(far, requests).await }
            });
            async move { Ok::<_, BoxError>(if http2 { MemoryIo::http2(near) } else { MemoryIo::http1(near) }) }
        }))
    }

    async fn serve_http2(io: DuplexStream, requests: usize) {
        let mut server = h2::server::handshake(io).await.unwrap();
        for number in 0.. {
            let Some(Ok((_, mut respond))) = server.accept().await else { return };
            if number == requests {
                return;
            }
            let _: h2::SendStream<Bytes> = respond.send_response(Response::new(()), true).unwrap();
        }
    }

    async fn serve_http1(mut io: DuplexStream, requests: usize) {
        for number in 0.. {
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                let Ok(byte) = io.read_u8().await else { return };
                request.push(byte);
            }
            if number == requests {
                return;
            }
            io.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await.unwrap();
        }
    }

    /// Whether a second request succeeds.
    async fn second_request(http2: bool, second: http::request::Builder) -> bool {
        let connector = closing_first_connection(http2);
        let config = Config::new(http::Uri::from_static("http://h"));
        let stack = layers(&config, None, TokioExecutor::new(), [connector.clone(), connector]).unwrap();
        let first =
            stack.clone().oneshot(Request::get("/version").body(Body::empty()).unwrap()).await.unwrap();
        first.into_body().collect().await.map_err(Into::into).unwrap();
        stack.oneshot(second.uri("/version").body(Body::empty()).unwrap()).await.is_ok()
    }

    #[tokio::test]
    async fn a_read_whose_connection_is_closed_before_the_response_is_sent_again() {
        for http2 in [true, false] {
            assert!(second_request(http2, Request::get("/")).await, "HTTP/2: {http2}");
            assert!(second_request(http2, Request::head("/")).await, "HTTP/2: {http2}");
            assert!(!second_request(http2, Request::post("/")).await, "HTTP/2: {http2}");
        }
    }

    #[tokio::test]
    async fn a_request_that_every_connection_refuses_is_sent_twice_at_most() {
        for http2 in [true, false] {
            let connections = Arc::new(AtomicUsize::new(0));
            let counter = Arc::clone(&connections);
            let connector = boxed(tower::service_fn(move |_: http::Uri| {
                counter.fetch_add(1, Ordering::SeqCst);
                let (near, far) = tokio::io::duplex(1 << 16);
                tokio::spawn(async move {
                    if http2 { serve_http2(far, 0).await } else { serve_http1(far, 0).await }
                });
                async move { Ok::<_, BoxError>(if http2 { MemoryIo::http2(near) } else { MemoryIo::http1(near) }) }
            }));
            let config = Config::new(http::Uri::from_static("http://h"));
            let stack = layers(&config, None, TokioExecutor::new(), [connector.clone(), connector]).unwrap();
            assert!(stack.oneshot(Request::get("/version").body(Body::empty()).unwrap()).await.is_err());
            assert_eq!(connections.load(Ordering::SeqCst), 2);
        }
    }

    #[test]
    fn a_user_agent_of_the_request_is_kept() {
        let named = with_user_agent(Request::new(Body::empty()));
        assert!(named.headers()[USER_AGENT].to_str().unwrap().starts_with("kube-client/5."));
        let own = Request::get("/").header(USER_AGENT, "own").body(Body::empty()).unwrap();
        assert_eq!(with_user_agent(own).headers()[USER_AGENT], "own");
    }
}
