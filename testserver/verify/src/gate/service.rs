//! The service that the operator calls.

use std::{
    io,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use futures::{FutureExt, future::BoxFuture};
use http::{
    HeaderMap, Method, Request, Response, Version,
    header::{ACCEPT, ACCEPT_ENCODING},
    request::Parts,
};
use http_body_util::BodyExt;
use kube_testserver::{Fault, Match};

use super::{
    answer::{Body, refusal},
    forward::forward,
    leases,
    session::Session,
    target::Target,
    watch, write,
};
use crate::{
    kinds::split,
    plan::{RequestFault, Verb},
};

/// How long a request takes: time passes also for an operator that does nothing but ask.
const ROUND_TRIP: Duration = Duration::from_millis(1);

/// The API server, as one incarnation of the operator sees it: a tower service, for any client that takes one.
///
/// Once the operator has crashed, requests and watches of that incarnation get no answer any more, also those of tasks that it has
/// spawned.
#[derive(Clone)]
pub struct ApiService {
    session: Arc<Session>,
    incarnation: u64,
}

impl ApiService {
    pub(crate) fn new(session: &Arc<Session>, incarnation: u64) -> Self {
        Self { session: session.clone(), incarnation }
    }
}

impl std::fmt::Debug for ApiService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ApiService").field("incarnation", &self.incarnation).finish_non_exhaustive()
    }
}

impl<B> tower::Service<Request<B>> for ApiService
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Response = Response<Body>;
    type Error = io::Error;
    type Future = BoxFuture<'static, io::Result<Response<Body>>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let Self { session, incarnation } = self.clone();
        async move {
            let (parts, body) = request.into_parts();
            let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
            let response = respond(&session, incarnation, parts, body).await;
            // A crash in the meantime: the answer reaches nobody.
            session.alive(incarnation).await;
            // As of a cluster: over HTTP/1.1, where no ping shows that a connection lives, clients open a silent watch again each minute.
            response.map(|mut response| {
                *response.version_mut() = Version::HTTP_2;
                response
            })
        }
        .boxed()
    }
}

async fn respond(
    session: &Arc<Session>,
    incarnation: u64,
    mut parts: Parts,
    body: Bytes,
) -> io::Result<Response<Body>> {
    plain_json(&mut parts.headers);
    session.alive(incarnation).await;
    let Some(target) = Target::of(parts.uri.path()) else { return forward(session, parts, body).await };
    if target.is_housekeeping() {
        if parts.method != Method::GET && target.is_event() {
            session.trace(|trace| trace.tells_events = true);
        }
        if target.is_lease() {
            return leases::respond(session, &target, parts, body).await;
        }
        return forward(session, parts, body).await;
    }
    session.count_request(&format!("{} {}", parts.method, parts.uri.path()));
    session.alive(incarnation).await;
    session.trace(|trace| trace.resources.insert(target.resource.clone()));
    if parts.method != Method::GET {
        tokio::time::sleep(ROUND_TRIP).await;
        session.alive(incarnation).await;
        session.write_renewals();
        return write::respond(session, incarnation, &target, parts, body).await;
    }
    let query = parts.uri.query().unwrap_or_default().to_owned();
    if watch::is_watch(&query) {
        let response = forward(session, parts, body).await?;
        return Ok(watch::delayed(session, incarnation, &target, &query, response));
    }
    tokio::time::sleep(ROUND_TRIP).await;
    session.alive(incarnation).await;
    read(session, &target, &query, parts).await
}

/// What is recorded and compared is JSON, whatever the client would rather have.
fn plain_json(headers: &mut HeaderMap) {
    headers.remove(ACCEPT_ENCODING);
    let Some(accept) = headers.get(ACCEPT).and_then(|value| value.to_str().ok()) else { return };
    let json: Vec<&str> = accept.split(',').filter(|kind| !kind.contains("protobuf")).collect();
    if let Ok(value) = json.join(",").parse() {
        headers.insert(ACCEPT, value);
    }
}

/// A get or a list.
async fn read(
    session: &Arc<Session>,
    target: &Target,
    query: &str,
    parts: Parts,
) -> io::Result<Response<Body>> {
    let verb = if target.name.is_empty() { Verb::List } else { Verb::Get };
    if verb == Verb::List && query.split('&').any(|option| option == "resourceVersion=0") {
        session.trace(|trace| trace.lists_any_version = true);
        if let Some((version, _)) = session.old_cache() {
            session.log(format!("the list of {} is that of version {version}", target.resource));
            let (group, plural) = split(&target.resource);
            let list = Match::resource(group.to_owned(), plural.to_owned()).verb("list").times(1);
            session.server.fault(list, Fault::Stale(version));
        }
    }
    let (place, fault) = session.place(target.operation(verb, &target.name, &session.names));
    let step = session.step();
    session.trace(|trace| trace.reads.push((place.clone(), step)));
    if let Some(fault) = fault {
        session.log(format!("FAULT: {place} fails"));
        if fault == RequestFault::Refused {
            return Ok(refusal(500, "InternalError", "injected by verify: the read failed"));
        }
    }
    let response = forward(session, parts, Bytes::new()).await?;
    session.log_comparable(format!("{place} → {}", response.status().as_u16()));
    Ok(response)
}
