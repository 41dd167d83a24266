//! The stack: every layer between a client and the wire, in one list.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use http::uri::Scheme;
use http::{Request, Response};
use http_body_util::BodyExt;
use hyper::rt::Executor;
use hyper_util::client::legacy::Client as HyperClient;
use hyper_util::client::legacy::connect::Connect;
use hyper_util::rt::TokioTimer;
use tower::retry::RetryLayer;
use tower::util::BoxService;
use tower::{BoxError, ServiceBuilder};

use super::ConfigExt;
use crate::body::Body;
use crate::config::Config;
use crate::error::Error;
use crate::layer::{ReauthLayer, RetryPolicy, TraceLayer};
use crate::transport::{DeadlineConnector, tcp_connector};

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
    let https = config.cluster_url.scheme() == Some(&Scheme::HTTPS);
    if !https {
        return layers(config, executor, tcp_connector());
    }
    #[cfg(feature = "rustls-tls")]
    return layers(config, executor, config.rustls_https_connector()?);
    #[cfg(not(feature = "rustls-tls"))]
    Err(Error::TlsRequired)
}

fn layers<E, C>(config: &Config, executor: E, connector: C) -> Result<DynService, Error>
where
    E: Executor<Pin<Box<dyn Future<Output = ()> + Send>>> + Clone + Send + Sync + 'static,
    C: tower_service::Service<http::Uri> + Clone + Send + Sync + 'static,
    C::Error: Into<BoxError>,
    C::Future: Send + 'static,
    DeadlineConnector<C>: Connect,
{
    let connector = DeadlineConnector::of(config, connector);
    let retry = config.default_retry.then(RetryPolicy::server_retry).map(RetryLayer::new);
    let service = ServiceBuilder::new()
        .map_response(|response: Response<_>| response.map(erase))
        .layer(TraceLayer)
        .option_layer(retry)
        .layer(config.extra_headers_layer()?)
        .layer(ReauthLayer)
        .option_layer(config.auth_layer()?)
        .layer(config.base_uri_layer())
        .map_err(BoxError::from)
        .service(http(executor, connector));
    Ok(BoxService::new(service))
}

/// HTTP over pooled connections. HTTP/2 connections are probed even while idle, so that a dead one is gone within 45 s.
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
        .build(connector)
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
        Some("http" | "https") => Err(Error::ProxyProtocolDisabled { proxy_url, protocol_feature: "http-proxy" }),
        Some("socks5") => Err(Error::ProxyProtocolDisabled { proxy_url, protocol_feature: "socks5" }),
        _ => Err(Error::ProxyProtocolUnsupported { proxy_url }),
    }
}
