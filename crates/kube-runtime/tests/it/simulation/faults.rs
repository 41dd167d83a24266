//! A layer between client and server that lets things go wrong.

use super::dice::Dice;
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

type Answer = Response<UnsyncBoxBody<Bytes, io::Error>>;

/// Decides what goes wrong. Ends with [`Faults::end`].
pub(super) struct Faults {
    dice: Mutex<Dice>,
    over: AtomicBool,
}

impl Faults {
    pub(super) fn new(dice: Dice) -> Arc<Self> {
        Arc::new(Self { dice: Mutex::new(dice), over: AtomicBool::new(false) })
    }

    /// From now on all answers are those of the server. What has begun to go wrong may go on.
    pub(super) fn end(&self) {
        self.over.store(true, Ordering::Relaxed);
    }

    /// A client that reaches `server` through the faults.
    pub(super) fn client(self: &Arc<Self>, server: &ApiServer) -> Client {
        let (faults, server) = (Arc::clone(self), server.clone());
        let service =
            service_fn(move |request: Request<Body>| answer(Arc::clone(&faults), server.clone(), request));
        Client::new(service, "default")
    }
}

async fn answer(faults: Arc<Faults>, server: ApiServer, request: Request<Body>) -> io::Result<Answer> {
    let is_watch = request.uri().query().is_some_and(|query| query.contains("watch="));
    let lag = lag_of(&request);
    if faults.over.load(Ordering::Relaxed) {
        return Ok(with_body(pass(server, request).await?, |body| later(body, lag)));
    }
    let (what, wait) = {
        let mut dice = faults.dice.lock().unwrap();
        (dice.below(12), dice.millis(8000))
    };
    match what {
        0 => Ok(refusal(StatusCode::TOO_MANY_REQUESTS, "TooManyRequests")),
        1 => Ok(refusal(StatusCode::INTERNAL_SERVER_ERROR, "InternalError")),
        2 => Ok(refusal(StatusCode::SERVICE_UNAVAILABLE, "ServiceUnavailable")),
        3 => Err(io::Error::from(io::ErrorKind::ConnectionRefused)),
        4 if is_watch => Ok(refusal(StatusCode::GONE, "Expired")),
        5 => {
            sleep(wait).await;
            Ok(with_body(pass(server, request).await?, |body| later(body, lag)))
        }
        _ if is_watch => {
            let answer = pass(server, request).await?;
            let mut dice = faults.dice.lock().unwrap();
            Ok(with_body(answer, |body| later(disturb(&mut dice, body), lag)))
        }
        _ => pass(server, request).await,
    }
}

/// The second kind is always a little later than the first, and the second namespace too: the server wakes its watchers
/// in no particular order, and which of them comes first would be the one thing that a seed does not decide.
fn lag_of(request: &Request<Body>) -> Duration {
    let path = request.uri().path();
    let (second_kind, second_namespace) = (path.ends_with("/secrets"), path.contains("/second/"));
    Duration::from_millis(u64::from(second_kind) + 2 * u64::from(second_namespace))
}

/// All of it, and its end, so much later.
///
/// Taken from the server by a task, so that no time depends on whether somebody looks before or after it has come.
fn later(
    body: impl Stream<Item = io::Result<Bytes>> + Send + 'static,
    lag: Duration,
) -> BoxStream<'static, io::Result<Bytes>> {
    if lag.is_zero() {
        return body.boxed();
    }
    let (send, late) = mpsc::unbounded();
    let taken = body.then(move |item| sleep(lag).map(|()| item)).map(Ok).forward(send.clone());
    let end = async move {
        drop(taken.await); // nobody listens any more
        sleep(lag).await;
        drop(send);
    };
    let task = CancelableJoinHandle::spawn(end, &Handle::current());
    let both = (late, task); // which ends with the stream
    stream::unfold(both, |(mut late, task)| async { late.next().await.map(|item| (item, (late, task))) })
        .boxed()
}

fn with_body(
    answer: Answer,
    change: impl FnOnce(BoxStream<'static, io::Result<Bytes>>) -> BoxStream<'static, io::Result<Bytes>>,
) -> Answer {
    let (parts, body) = answer.into_parts();
    let body = change(body.into_data_stream().boxed());
    Response::from_parts(parts, StreamBody::new(body.map(|data| data.map(Frame::data))).boxed_unsync())
}

async fn pass(server: ApiServer, request: Request<Body>) -> io::Result<Answer> {
    let answer = server.oneshot(request).await?;
    Ok(answer.map(|body| body.map_err(|error| io::Error::other(error.to_string())).boxed_unsync()))
}

fn refusal(code: StatusCode, reason: &str) -> Answer {
    let body = stream::iter([Ok(Frame::data(status(code, reason).to_string().into()))]);
    Response::builder().status(code).body(StreamBody::new(body).boxed_unsync()).unwrap()
}

fn status(code: StatusCode, reason: &str) -> serde_json::Value {
    json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": "as the dice fell", "reason": reason, "code": code.as_u16(),
    })
}

/// A watch that ends in one of many ways, or not at all.
fn disturb(
    dice: &mut Dice,
    watch: impl Stream<Item = io::Result<Bytes>> + Send + 'static,
) -> BoxStream<'static, io::Result<Bytes>> {
    let end = dice.millis(20_000);
    let cut = watch.take_until(sleep(end));
    match dice.below(7) {
        0 => cut.boxed(),
        1 => cut.chain(stream::iter([Err(io::Error::from(io::ErrorKind::ConnectionReset))])).boxed(),
        2 => cut.chain(stream::pending()).boxed(),
        3 => {
            let event = json!({ "type": "ERROR", "object": status(StatusCode::GONE, "Expired") });
            cut.chain(stream::iter([Ok(format!("{event}\n").into())])).boxed()
        }
        4 => {
            let mut whole = dice.below(4);
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
            let late = dice.millis(3000);
            cut.then(move |data| async move {
                sleep(late).await;
                data
            })
            .boxed()
        }
        _ => cut.take_until(future::pending::<()>()).boxed(),
    }
}
