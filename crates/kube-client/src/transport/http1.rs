//! HTTP/1.1 over pooled connections.

use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::FutureExt;
use futures::future::{BoxFuture, ready};
use http::Uri;
use http_body::Body;
use hyper_util::client::legacy::{Builder, Client};
use hyper_util::rt::TokioTimer;
use tower::{BoxError, ServiceExt};
use tower_service::Service;

use super::Spawn;
use super::any::AnyIo;
use super::connector::DeadlineConnector;
use super::io::DeadlineIo;

pub(super) type Http1<B> = Client<HandedOver, B>;

pub(super) type Connection = DeadlineIo<AnyIo>;
pub(super) type Connector = DeadlineConnector<super::AnyConnector>;

/// Requests over the connection that is there already and those that `connector` makes.
pub(super) fn keeping<B>(first: Connection, connector: Connector, spawn: &Spawn) -> Http1<B>
where
    B: Body<Data = Bytes> + Send,
{
    let first = Arc::new(Mutex::new(Some(first)));
    builder(spawn).build(HandedOver { first, connector })
}

/// Each request over a connection of its own: one for an upgrade is used up by it, and one that the server did not upgrade is not
/// worth keeping.
pub(super) fn alone<B>(connector: Connector, spawn: &Spawn) -> Http1<B>
where
    B: Body<Data = Bytes> + Send,
{
    builder(spawn).pool_max_idle_per_host(0).build(HandedOver { first: Arc::default(), connector })
}

fn builder(spawn: &Spawn) -> Builder {
    let mut builder = Client::builder(Spawner(Arc::clone(spawn)));
    builder.timer(TokioTimer::new()).pool_timer(TokioTimer::new());
    builder
}

/// Gives the connection that is there already to whoever asks first.
#[derive(Clone)]
pub(super) struct HandedOver {
    first: Arc<Mutex<Option<Connection>>>,
    connector: Connector,
}

impl Service<Uri> for HandedOver {
    type Response = Connection;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Connection, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, target: Uri) -> Self::Future {
        match self.first.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(connection) => ready(Ok(connection)).boxed(),
            None => self.connector.clone().oneshot(target).boxed(),
        }
    }
}

#[derive(Clone)]
struct Spawner(Spawn);

impl hyper::rt::Executor<BoxFuture<'static, ()>> for Spawner {
    fn execute(&self, task: BoxFuture<'static, ()>) {
        (self.0)(task);
    }
}
