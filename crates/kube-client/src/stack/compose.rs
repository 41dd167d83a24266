//! The stack: every layer between a client and its connections, in one list.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use futures::TryFutureExt;
use http::header::USER_AGENT;
use http::{HeaderValue, Request, Response};
use http_body_util::BodyExt;
use hyper::rt::Executor;
use tokio::time::Instant;
use tower::retry::RetryLayer;
use tower::{BoxError, ServiceBuilder, ServiceExt};
use tower_service::Service;

use super::ConfigExt;
use super::access::{Access, CurrentAccess};
use super::optional::{decompression_layer, metrics_layer};
use super::service::Stack;
use crate::auth::Credential;
use crate::body::Body;
use crate::config::{Config, without_credentials};
use crate::connect::server_connector;
use crate::error::Error;
use crate::layer::{AuthLayer, ProbeLayer, ReauthLayer, RedirectLayer, RetryPolicy};
use crate::tls::{Alpn, Backend, CaEpoch, IdentityEpoch, Peer};
use crate::transport::{BoxConnector, DeadlineConnector, SharedExecutor, Transport};

/// A stack, and by what its client exchanges the lower part of it.
pub(crate) type WithAccess<S> = (S, Arc<dyn Access>);

/// Builds the stack for `config`. Requests pass the layers from top to bottom, responses from bottom to top.
pub(crate) fn compose<E>(config: &Config, executor: E) -> Result<WithAccess<impl Stack + use<E>>, Error>
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
) -> Result<WithAccess<impl Stack + use<E>>, Error>
where
    E: Executor<Pin<Box<dyn Future<Output = ()> + Send>>> + Clone + Send + Sync + 'static,
{
    exchangeable(config, move |config| {
        let credential = Credential::from_config(config).map_err(Error::Auth)?;
        let peer =
            Peer::Server { identity_provider: credential.as_ref().and_then(Credential::identity_provider) };
        let [any_version, http1] =
            [Alpn::Http2OrHttp1, Alpn::Http1].map(|alpn| server_connector(backend, config, &peer, alpn));
        let transport = transport(config, credential.as_ref(), executor.clone(), [any_version?, http1?])?;
        access(config, credential, transport)
    })
}

/// Builds the stack for `config` over a transport of the caller, such as a server in the same process. Settings of connections have no
/// effect.
pub(crate) fn compose_over<T, B>(
    config: &Config,
    transport: T,
) -> Result<WithAccess<impl Stack + use<T, B>>, Error>
where
    T: Service<Request<Body>, Response = Response<B>, Error = BoxError, Future: Send + 'static>
        + Clone
        + Send
        + Sync
        + 'static,
    B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + Unpin + 'static,
{
    // Ready at once: the wait for the transport is part of the request, so that the time limits above include it.
    let ready = tower::service_fn(move |request| {
        let response = transport.clone().oneshot(request);
        response.map_ok(|response: Response<B>| response.map(|body| body.map_err(Into::<BoxError>::into)))
    });
    exchangeable(config, move |config| {
        access(config, Credential::from_config(config).map_err(Error::Auth)?, ready.clone())
    })
}

/// The stack whose lower part `make` makes of a configuration.
fn exchangeable<S: Stack, F>(config: &Config, make: F) -> Result<WithAccess<impl Stack + use<S, F>>, Error>
where
    F: Fn(&Config) -> Result<S, Error> + Send + Sync + 'static,
{
    let current = CurrentAccess::new(config, make)?;
    Ok((above(config, current.stack()), current))
}

fn transport<E>(
    config: &Config,
    credential: Option<&Credential>,
    executor: E,
    connectors: [BoxConnector; 2],
) -> Result<Transport<Body>, Error>
where
    E: Executor<Pin<Box<dyn Future<Output = ()> + Send>>> + Clone + Send + Sync + 'static,
{
    let identity_provider = credential.and_then(Credential::identity_provider);
    let epoch = IdentityEpoch::of(&config.auth_info, identity_provider)?;
    let cas = CaEpoch::of(config.root_cert_file.as_deref());
    Ok(Transport::new(
        without_credentials(&config.cluster_url),
        connectors.map(|connector| DeadlineConnector::new(config, connector)),
        SharedExecutor::new(executor),
        move || {
            let now = Instant::now();
            epoch.current(now) + cas.current(now)
        },
    ))
}

/// The layers above the access: they stay when it is exchanged.
fn above<S: Stack>(config: &Config, access: S) -> impl Stack + use<S> {
    let retry = config.default_retry.then(RetryPolicy::server_retry).map(RetryLayer::new);
    ServiceBuilder::new()
        .layer(config.trace_layer())
        .layer(config.warning_layer())
        .layer(decompression_layer(config))
        .option_layer(retry)
        .service(access)
}

/// The layers between `above` and a transport.
fn access<T: Stack>(
    config: &Config,
    credential: Option<Credential>,
    transport: T,
) -> Result<impl Stack + use<T>, Error> {
    // Only a credential that can be refreshed may succeed after a 401.
    let reauth = matches!(credential, Some(Credential::Refreshing(_))).then_some(ReauthLayer);
    let service = ServiceBuilder::new()
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
    use std::sync::atomic::{AtomicUsize, Ordering};

    use hyper_util::rt::TokioExecutor;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

    use super::*;
    use crate::transport::{MemoryIo, boxed};

    fn layers(config: &Config, connectors: [BoxConnector; 2]) -> impl Stack + use<> {
        let transport = transport(config, None, TokioExecutor::new(), connectors).unwrap();
        above(config, access(config, None, transport).unwrap())
    }

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
        let service = layers(&config, connectors);
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
        let stack = layers(&config, [connector.clone(), connector]);
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
            let stack = layers(&config, [connector.clone(), connector]);
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
