//! The stack: every layer between a client and the wire, in one list.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use http::header::USER_AGENT;
use http::{HeaderValue, Request, Response};
use hyper::rt::Executor;
use tokio::time::Instant;
use tower::retry::RetryLayer;
use tower::{BoxError, ServiceBuilder};
use tower_service::Service;

use super::ConfigExt;
use crate::auth::Credential;
use crate::body::Body;
use crate::config::{Config, without_credentials};
use crate::connect::connector;
use crate::error::Error;
use crate::layer::{AuthLayer, ProbeLayer, ReauthLayer, RetryPolicy};
use crate::tls::{Backend, IdentityEpoch, Offer, Peer};
use crate::transport::{AnyConnector, DeadlineConnector, Transport};

/// The body of an answer, whatever layers it came through.
pub type DynBody = dyn http_body::Body<Data = Bytes, Error = BoxError> + Send + Unpin;

/// A whole stack. Copies share its connections, so each request may have its own.
pub(crate) trait Stack:
    Service<Request<Body>, Response = Response<Self::Body>, Error = BoxError, Future: Send + 'static>
    + Clone
    + Send
    + Sync
    + 'static
{
    /// The body of an answer.
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

/// Puts the stack for `config` together. Requests pass the layers from top to bottom, answers from bottom to top.
pub(crate) fn compose<E>(config: &Config, executor: E) -> Result<impl Stack, Error>
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
) -> Result<impl Stack, Error>
where
    E: Executor<Pin<Box<dyn Future<Output = ()> + Send>>> + Clone + Send + Sync + 'static,
{
    let credential = Credential::plan(config).map_err(Error::Auth)?;
    let peer = Peer::Server { giver: credential.as_ref().and_then(Credential::giver) };
    let [usual, upgrading] = [Offer::Any, Offer::Http1].map(|offer| connector(backend, config, &peer, offer));
    layers(config, credential, executor, [usual?, upgrading?])
}

fn layers<E>(
    config: &Config,
    credential: Option<Credential>,
    executor: E,
    connectors: [AnyConnector; 2],
) -> Result<impl Stack, Error>
where
    E: Executor<Pin<Box<dyn Future<Output = ()> + Send>>> + Clone + Send + Sync + 'static,
{
    let giver = credential.as_ref().and_then(Credential::giver);
    let epoch = IdentityEpoch::of(&config.auth_info, giver)?;
    let transport = Transport::new(
        without_credentials(&config.cluster_url),
        connectors.map(|connector| DeadlineConnector::of(config, connector)),
        Arc::new(move |task| executor.execute(task)),
        move || epoch.current(Instant::now()),
    );
    let retry = config.default_retry.then(RetryPolicy::server_retry).map(RetryLayer::new);
    // Only a credential that can be renewed is worth a second try.
    let reauth = matches!(credential, Some(Credential::Renewing(_))).then_some(ReauthLayer);
    let service = ServiceBuilder::new()
        .layer(config.trace_layer())
        .layer(super::decompress::layer(config))
        .option_layer(retry)
        .layer(config.extra_headers_layer()?)
        .map_request(name_ourselves)
        .layer(ProbeLayer::new(config.response_timeout))
        .option_layer(reauth)
        .option_layer(credential.map(AuthLayer::new))
        .layer(config.base_uri_layer())
        .layer(super::measured::layer())
        .layer(config.deadline_layer())
        .service(transport);
    Ok(service)
}

/// Audit logs and priority rules of the server go by it. Who has set a name of their own keeps it.
fn name_ourselves(mut request: Request<Body>) -> Request<Body> {
    let name = HeaderValue::from_static(concat!("kube-client/", env!("CARGO_PKG_VERSION")));
    request.headers_mut().entry(USER_AGENT).or_insert(name);
    request
}

#[cfg(test)]
mod tests {
    use hyper_util::rt::TokioExecutor;
    use tower::ServiceExt;

    use super::*;
    use crate::transport::{NearEnd, any};

    #[tokio::test(start_paused = true)]
    async fn a_server_that_falls_silent_is_noticed_within_a_minute() {
        let (held, mut holding) = tokio::sync::mpsc::unbounded_channel();
        let connector = tower::service_fn(move |_: http::Uri| {
            let (near, far) = tokio::io::duplex(1 << 20);
            // Kept open and never read from: packets vanish.
            held.send(far).expect("invariant: the receiver lives as long as the test");
            async move { Ok::<_, BoxError>(NearEnd::http2(near)) }
        });
        let config = Config::new(http::Uri::from_static("http://h"));
        let connectors = [any(connector.clone()), any(connector)];
        let service = layers(&config, None, TokioExecutor::new(), connectors).unwrap();
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
