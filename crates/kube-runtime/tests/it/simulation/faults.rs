//! A layer between client and server that injects faults.

use super::rng::Rng;
use bytes::Bytes;
use futures::{FutureExt, Stream, StreamExt, channel::mpsc, future, stream, stream::BoxStream};
use http::{Request, Response, StatusCode};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody, combinators::UnsyncBoxBody};
use kube_client::{Client, client::Body};
use kube_runtime::utils::CancelableJoinHandle;
use kube_testserver::ApiServer;
use serde_json::json;
use std::{
    io,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::{runtime::Handle, time::sleep};
use tower::{ServiceExt, service_fn};

type FaultyResponse = Response<UnsyncBoxBody<Bytes, io::Error>>;

/// Injects random faults until [`Faults::end`].
pub(super) struct Faults {
    rng: Mutex<Rng>,
    over: AtomicBool,
}

impl Faults {
    pub(super) fn new(rng: Rng) -> Arc<Self> {
        Arc::new(Self { rng: Mutex::new(rng), over: AtomicBool::new(false) })
    }

    /// Injects no new faults. Watches that are already disturbed stay disturbed.
    pub(super) fn end(&self) {
        self.over.store(true, Ordering::Relaxed);
    }

    /// A client that sends its requests to `server` through the faults.
    pub(super) fn client(self: &Arc<Self>, server: &ApiServer) -> Client {
        let (faults, server) = (Arc::clone(self), server.clone());
        let service =
            service_fn(move |request: Request<Body>| respond(Arc::clone(&faults), server.clone(), request));
        Client::new(service, "default")
    }
}

async fn respond(
    faults: Arc<Faults>,
    server: ApiServer,
    request: Request<Body>,
) -> io::Result<FaultyResponse> {
    let query = request.uri().query().unwrap_or_default();
    let (is_watch, is_next_page) = (query.contains("watch="), query.contains("continue="));
    let lag = lag_of(&request);
    if faults.over.load(Ordering::Relaxed) {
        return Ok(with_body(pass(server, request).await?, |body| delayed(body, lag)));
    }
    let (what, wait) = {
        let mut rng = faults.rng.lock().unwrap();
        (rng.below(12), rng.millis(8000))
    };
    if is_next_page {
        sleep(wait / 2).await; // much can happen between two pages
    }
    match what {
        0 => Ok(refusal(StatusCode::TOO_MANY_REQUESTS, "TooManyRequests")),
        1 => Ok(refusal(StatusCode::INTERNAL_SERVER_ERROR, "InternalError")),
        2 => Ok(refusal(StatusCode::SERVICE_UNAVAILABLE, "ServiceUnavailable")),
        3 => Err(io::Error::from(io::ErrorKind::ConnectionRefused)),
        4 if is_watch => Ok(refusal(StatusCode::GONE, "Expired")),
        5 => {
            sleep(wait).await;
            Ok(with_body(pass(server, request).await?, |body| delayed(body, lag)))
        }
        _ if is_watch => {
            let response = pass(server, request).await?;
            let mut rng = faults.rng.lock().unwrap();
            Ok(with_body(response, |body| delayed(disturb(&mut rng, body), lag)))
        }
        _ => pass(server, request).await,
    }
}

/// Delays events of the second kind and of the second namespace a little. The server wakes its watchers in no particular order;
/// without the delay the order of events would not be reproducible.
fn lag_of(request: &Request<Body>) -> Duration {
    let path = request.uri().path();
    let (second_kind, second_namespace) = (path.ends_with("/secrets"), path.contains("/second/"));
    Duration::from_millis(u64::from(second_kind) + 2 * u64::from(second_namespace))
}

/// Delays a body and its end.
///
/// A task reads the body, so that the times do not depend on when the client polls.
fn delayed(
    body: impl Stream<Item = io::Result<Bytes>> + Send + 'static,
    lag: Duration,
) -> BoxStream<'static, io::Result<Bytes>> {
    if lag.is_zero() {
        return body.boxed();
    }
    let (send, receive) = mpsc::unbounded();
    let forward = body.then(move |item| sleep(lag).map(|()| item)).map(Ok).forward(send.clone());
    let end = async move {
        drop(forward.await); // an error means that the receiver was dropped
        sleep(lag).await;
        drop(send);
    };
    let task = CancelableJoinHandle::spawn(end, &Handle::current());
    let state = (receive, task); // dropping the stream cancels the task
    stream::unfold(state, |(mut receive, task)| async {
        receive.next().await.map(|item| (item, (receive, task)))
    })
    .boxed()
}

fn with_body(
    response: FaultyResponse,
    change: impl FnOnce(BoxStream<'static, io::Result<Bytes>>) -> BoxStream<'static, io::Result<Bytes>>,
) -> FaultyResponse {
    let (parts, body) = response.into_parts();
    let body = change(body.into_data_stream().boxed());
    Response::from_parts(parts, StreamBody::new(body.map(|data| data.map(Frame::data))).boxed_unsync())
}

async fn pass(server: ApiServer, request: Request<Body>) -> io::Result<FaultyResponse> {
    let response = server.oneshot(request).await?;
    Ok(response.map(|body| body.map_err(|error| io::Error::other(error.to_string())).boxed_unsync()))
}

fn refusal(code: StatusCode, reason: &str) -> FaultyResponse {
    let body = stream::iter([Ok(Frame::data(status(code, reason).to_string().into()))]);
    Response::builder().status(code).body(StreamBody::new(body).boxed_unsync()).unwrap()
}

fn status(code: StatusCode, reason: &str) -> serde_json::Value {
    json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": "injected fault", "reason": reason, "code": code.as_u16(),
    })
}

/// Cuts a watch after a random time, or makes it hang.
fn disturb(
    rng: &mut Rng,
    watch: impl Stream<Item = io::Result<Bytes>> + Send + 'static,
) -> BoxStream<'static, io::Result<Bytes>> {
    let end = rng.millis(20_000);
    let cut = watch.take_until(sleep(end));
    match rng.below(7) {
        0 => cut.boxed(),
        1 => cut.chain(stream::iter([Err(io::Error::from(io::ErrorKind::ConnectionReset))])).boxed(),
        2 => cut.chain(stream::pending()).boxed(),
        3 => {
            let event = json!({ "type": "ERROR", "object": status(StatusCode::GONE, "Expired") });
            cut.chain(stream::iter([Ok(format!("{event}\n").into())])).boxed()
        }
        4 => {
            let mut whole = rng.below(4);
            cut.scan(false, move |broken, data| {
                let item = match data {
                    _ if *broken => None,
                    Ok(data) if whole == 0 => {
                        *broken = true;
                        Some(Ok(data.slice(..data.len() / 2)))
                    }
                    other => {
                        whole -= 1;
                        Some(other)
                    }
                };
                future::ready(item)
            })
            .boxed()
        }
        5 => {
            let late = rng.millis(3000);
            cut.then(move |data| async move {
                sleep(late).await;
                data
            })
            .boxed()
        }
        _ => cut.take_until(future::pending::<()>()).boxed(),
    }
}
