//! [`ClientBuilder`]: adds layers around a stack and makes a client of it.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::BodyExt;
use hyper::rt::Executor;
use hyper_util::rt::TokioExecutor;
use jiff::Timestamp;
use tower::util::BoxService;
use tower::{BoxError, Layer, Service, ServiceExt};

use super::Client;
use super::shared_access::ClientAccess;
use crate::body::Body;
use crate::config::{Config, DEFAULT_COLLECT_LIMIT};
use crate::error::Error;
use crate::stack::{DynBody, compose};

/// Builds a [`Client`] from the default stack ([`ClientBuilder::try_from`]) or from any other service.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// use kube_client::client::{Body, ClientBuilder};
/// let config = kube_client::Config::new("http://localhost:8080".parse().unwrap());
/// let add_header = tower::util::MapRequestLayer::new(|mut request: http::Request<Body>| {
///     request.headers_mut().insert("x-team", "web".parse().unwrap());
///     request
/// });
/// let client = ClientBuilder::try_from(config).unwrap().with_layer(&add_header).build();
/// # });
/// ```
#[derive(Debug)]
pub struct ClientBuilder<Svc> {
    service: Svc,
    default_namespace: String,
    valid_until: Option<Timestamp>,
    collect_limit: usize,
    access: Option<Arc<ClientAccess>>,
}

impl<Svc> ClientBuilder<Svc> {
    /// Starts from this service.
    pub fn new(service: Svc, default_namespace: impl Into<String>) -> Self
    where
        Svc: Service<Request<Body>>,
    {
        Self {
            service,
            default_namespace: default_namespace.into(),
            valid_until: None,
            collect_limit: DEFAULT_COLLECT_LIMIT,
            access: None,
        }
    }

    /// Adds a layer around the service. The layer that is added last sees requests first.
    pub fn with_layer<L: Layer<Svc>>(self, layer: &L) -> ClientBuilder<L::Service> {
        ClientBuilder {
            service: layer.layer(self.service),
            default_namespace: self.default_namespace,
            valid_until: self.valid_until,
            collect_limit: self.collect_limit,
            access: self.access,
        }
    }

    /// Sets the time at which the credentials expire for good.
    pub fn with_valid_until(self, valid_until: Option<Timestamp>) -> Self {
        Self { valid_until, ..self }
    }

    /// Builds the client.
    pub fn build<B>(self) -> Client
    where
        Svc: Service<Request<Body>, Response = Response<B>> + Send + 'static,
        Svc::Future: Send + 'static,
        Svc::Error: Into<BoxError>,
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        Client::new(self.service, self.default_namespace)
            .with_valid_until(self.valid_until)
            .with_collect_limit(self.collect_limit)
            .with_access(self.access)
    }
}

impl TryFrom<Config> for ClientBuilder<BoxService<Request<Body>, Response<Box<DynBody>>, BoxError>> {
    type Error = Error;

    /// The default stack for `config`, with its tasks on the current tokio runtime.
    fn try_from(config: Config) -> crate::Result<Self> {
        Self::try_from((config, TokioExecutor::new()))
    }
}

impl<E> TryFrom<(Config, E)> for ClientBuilder<BoxService<Request<Body>, Response<Box<DynBody>>, BoxError>>
where
    E: Executor<Pin<Box<dyn Future<Output = ()> + Send>>> + Send + Sync + Clone + 'static,
{
    type Error = Error;

    /// The default stack for `config`, with the tasks of its connections on `executor`.
    fn try_from((config, executor): (Config, E)) -> crate::Result<Self> {
        let (stack, access) = compose(&config, executor)?;
        let stack = stack.map_response(|response| response.map(boxed));
        let builder = Self::new(BoxService::new(stack), config.default_namespace);
        let access = Some(ClientAccess::new(access));
        Ok(Self { collect_limit: config.collect_limit, access, ..builder })
    }
}

fn boxed<B>(body: B) -> Box<DynBody>
where
    B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + Unpin + 'static,
{
    Box::new(body.map_err(Into::into))
}
