//! The stack: every layer between a client and the wire, in one list.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use http::header::USER_AGENT;
use http::uri::Scheme;
use http::{HeaderValue, Request, Response};
use http_body_util::BodyExt;
use hyper::rt::Executor;
use hyper_util::client::legacy::Client as HyperClient;
use hyper_util::client::legacy::connect::Connect;
use hyper_util::rt::TokioTimer;
use tower::retry::RetryLayer;
use tower::util::BoxService;
use tower::{BoxError, ServiceBuilder};

use super::ConfigExt;
use crate::auth::Credential;
use crate::body::Body;
use crate::config::Config;
use crate::error::Error;
use crate::layer::{AuthLayer, ReauthLayer, RetryPolicy};
#[cfg(feature = "rustls-tls")]
use crate::tls::{Offer, https_connector};
use crate::transport::{DeadlineConnector, ROOM, Spread, Upgrades, tcp_connector};

/// The body of an answer, whatever layers it came through.
pub type DynBody = dyn http_body::Body<Data = Bytes, Error = BoxError> + Send + Unpin;

/// A whole stack, its type erased.
pub(crate) type DynService = BoxService<Request<Body>, Response<Box<DynBody>>, BoxError>;

/// Puts the stack for `config` together. Requests pass the layers from top to bottom, answers from bottom to top.
pub(crate) fn compose<E>(config: &Config, executor: E) -> Result<DynService, Error>
where
    E: Executor<Pin<Box<dyn Future<Output = ()> + Send>>> + Clone + Send + Sync + 'static,
{
    refuse_proxy(config)?;
    let credential = Credential::plan(&config.auth_info).map_err(Error::Auth)?;
    if config.cluster_url.scheme() != Some(&Scheme::HTTPS) {
        return layers(config, credential, executor, tcp_connector(), tcp_connector());
    }
    #[cfg(feature = "rustls-tls")]
    {
        let tls = super::config_ext::rustls_client_config(config, credential.as_ref())?;
        let connector =
            |offer| https_connector(config, tls.clone(), tcp_connector(), offer).map_err(Error::RustlsTls);
        layers(config, credential, executor, connector(Offer::Any)?, connector(Offer::Http1)?)
    }
    #[cfg(not(feature = "rustls-tls"))]
    Err(Error::TlsRequired)
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
    let upgrading = http(executor.clone(), DeadlineConnector::of(config, upgrading));
    let usual = Spread::new(move || http(executor.clone(), connector.clone()));
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

/// HTTP over pooled connections. HTTP/2 connections are probed even while idle, so that a dead one is gone within 45 s.
///
/// A connection takes in as much as all of its answers together: were it less, a few watches that nobody reads would leave no room
/// for the others.
fn http<E, C>(executor: E, connector: C) -> HyperClient<C, Body>
where
    E: Executor<Pin<Box<dyn Future<Output = ()> + Send>>> + Clone + Send + Sync + 'static,
    C: Connect + Clone,
{
    HyperClient::builder(executor)
        .timer(TokioTimer::new())
        .pool_timer(TokioTimer::new())
        .http2_keep_alive_interval(Duration::from_secs(30))
        .http2_keep_alive_timeout(Duration::from_secs(15))
        .http2_keep_alive_while_idle(true)
        .http2_initial_stream_window_size(STREAM_WINDOW)
        .http2_initial_connection_window_size(STREAM_WINDOW * ROOM)
        .build(connector)
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

/// A proxy that is asked for but cannot be used must not be passed by silently.
fn refuse_proxy(config: &Config) -> Result<(), Error> {
    let Some(proxy) = &config.proxy_url else { return Ok(()) };
    let proxy_url = Box::new(proxy.clone());
    match proxy.scheme_str() {
        Some("http" | "https") => {
            Err(Error::ProxyProtocolDisabled { proxy_url, protocol_feature: "http-proxy" })
        }
        Some("socks5") => Err(Error::ProxyProtocolDisabled { proxy_url, protocol_feature: "socks5" }),
        _ => Err(Error::ProxyProtocolUnsupported { proxy_url }),
    }
}

#[cfg(test)]
mod tests {
    use hyper_util::client::legacy::connect::{Connected, Connection};
    use hyper_util::rt::{TokioExecutor, TokioIo};
    use tokio::io::DuplexStream;
    use tokio::time::Instant;
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

    #[test]
    fn a_proxy_that_cannot_be_used_is_not_passed_by() {
        for (url, disabled) in
            [("http://p:1", true), ("https://p:1", true), ("socks5://p:1", true), ("ftp://p", false)]
        {
            let mut config = Config::new(http::Uri::from_static("http://h"));
            config.proxy_url = Some(url.parse().unwrap());
            let err = compose(&config, TokioExecutor::new()).err().unwrap();
            assert_eq!(matches!(err, Error::ProxyProtocolDisabled { .. }), disabled, "{url}");
        }
    }
}
