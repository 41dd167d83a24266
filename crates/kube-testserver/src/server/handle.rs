use std::{
    fmt, io,
    pin::pin,
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::{Bytes, BytesMut};
use futures::StreamExt;
use http::{Method, Request, Response, header, request::Parts};
use http_body_util::BodyExt;

use super::{
    ApiServer, access, broken, documents,
    form::Form,
    node,
    observer::{Answered, Observer},
    respond,
};
use crate::{
    auth::User,
    body::Body,
    conversion,
    failure::Failure,
    registry::Endpoint,
    render::{self, Encoder, View},
    route::{ListOptions, Query, ResourcePath, Route},
    verb::{self, Answer, Call, Content},
    watch::Watch,
    webhook,
    world::World,
};

/// The largest request body that is read.
const BODY_LIMIT: usize = 3 * 1024 * 1024;
/// One that is larger is still taken in, so that its sender comes to read the refusal; but not more than this of it.
const PATIENT_LIMIT: usize = 16 * BODY_LIMIT;
/// How often somebody is asked about one request: one that changes under the eyes of its webhooks is asked about again.
const MOST_ANSWERS: usize = 200;

/// Earlier state that a request is to be answered from, as an extension of the request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stale(pub(super) u64);

/// Answers a request, or lets it go wrong as the server's faults say.
pub(super) async fn handle<B>(server: ApiServer, request: Request<B>) -> io::Result<Response<Body>>
where
    B: http_body::Body<Data = Bytes, Error: fmt::Display> + Send + 'static,
{
    let (parts, body) = request.into_parts();
    let observed = server.observer().cloned().map(|observer| (observer, begun(&parts), Instant::now()));
    let answer = match server.strike(&parts) {
        Some(fault) => broken::answer_broken(fault, server, parts, body).await,
        None => Ok(answer(server, &parts, body).await),
    };
    if let Some((Observer(tell), answered, began)) = observed {
        let code = answer.as_ref().map_or(0, |answer| answer.status().as_u16());
        tell(&Answered { code, took: began.elapsed(), ..answered });
    }
    answer
}

fn begun(parts: &Parts) -> Answered {
    let agent = parts.headers.get(header::USER_AGENT).and_then(|value| value.to_str().ok());
    Answered {
        method: parts.method.clone(),
        uri: parts.uri.clone(),
        user_agent: agent.unwrap_or_default().into(),
        code: 0,
        took: Duration::ZERO,
    }
}

/// The server's own answer.
pub(super) async fn answer<B>(server: ApiServer, parts: &Parts, body: B) -> Response<Body>
where
    B: http_body::Body<Data = Bytes, Error: fmt::Display> + Send + 'static,
{
    Form::of(parts).finish(unformed(server, parts, body).await)
}

async fn unformed<B>(server: ApiServer, parts: &Parts, body: B) -> Response<Body>
where
    B: http_body::Body<Data = Bytes, Error: fmt::Display> + Send + 'static,
{
    let user = match access::admit(&server, parts) {
        Ok(user) => user,
        Err(refusal) => return *refusal,
    };
    let path = match Route::parse(parts.uri.path()) {
        Route::Resource(path) => path,
        other => return documents::answer(&server.world().lock(), &other, parts),
    };
    let body = match read(body).await {
        Ok(body) => body,
        Err(failure) => return respond::failure(&failure),
    };
    let found = find(&server.world().lock(), &path);
    let Some(endpoint) = found else {
        return documents::unknown_resource(&server.world().lock(), &path.group, &path.version);
    };
    decide(&server, call(parts, path, endpoint, (user, body)), parts)
        .await
        .unwrap_or_else(|failure| respond::failure(&failure))
}

/// Runs the verb, and again with each answer that it needs from outside. The world is free while somebody is asked.
async fn decide(server: &ApiServer, mut call: Call, parts: &Parts) -> Result<Response<Body>, Failure> {
    server.world().lock().catch_up();
    loop {
        let result = serve(server, &mut server.world().lock(), &call, parts);
        let mut failure = match result {
            Ok(Served::Stream(response)) => return Ok(response),
            Ok(Served::Answer(answer, encoder)) => {
                return write_out(server, &call.endpoint, answer, &encoder).await;
            }
            Err(failure) => failure,
        };
        match failure.asks.take() {
            None => return Err(failure),
            Some(_) if call.answers.len() >= MOST_ANSWERS => {
                return Err(Failure::internal("the object changes faster than its webhooks answer"));
            }
            Some(inquiry) => {
                let answer = webhook::ask(&inquiry).await;
                call.answers.record(*inquiry, answer);
                call.endpoint = again(server, &call.endpoint)?;
            }
        }
    }
}

/// What a verb came to.
enum Served {
    Stream(Response<Body>),
    Answer(Answer, Encoder),
}

/// Writes an answer in the version and form that was asked for.
async fn write_out(
    server: &ApiServer,
    endpoint: &Endpoint,
    answer: Answer,
    encoder: &Encoder,
) -> Result<Response<Body>, Failure> {
    let now = server.world().lock().now();
    let present = |objects| conversion::present(server.world(), endpoint, objects);
    let body = match answer.content {
        Content::Object(object) => {
            let shown = present(vec![object]).await?;
            shown.first().map(|object| encoder.object(object, &now)).unwrap_or_default()
        }
        Content::List { objects, revision, more } => {
            let shown = present(objects).await?;
            encoder.list(shown.iter().map(AsRef::as_ref), &revision.to_string(), more, &now)
        }
        Content::Document(document) => document.to_string().into(),
    };
    Ok(respond::json(answer.code, body, &answer.warnings))
}

/// The same endpoint as it is now.
fn again(server: &ApiServer, endpoint: &Endpoint) -> Result<Endpoint, Failure> {
    let world = server.world().lock();
    let found = world.registry.find(endpoint.group(), &endpoint.version().name, endpoint.plural());
    found.cloned().ok_or_else(Failure::no_such_path)
}

/// The endpoint of a path, when the path fits its scope.
fn find(world: &World, path: &ResourcePath) -> Option<Endpoint> {
    let endpoint = world.registry.find(&path.group, &path.version, &path.plural)?;
    let fits = match (endpoint.resource.namespaced, &path.namespace, &path.name) {
        (true, None, Some(_)) | (false, Some(_), _) => false,
        (true, ..) | (false, None, _) => true,
    };
    fits.then(|| endpoint.clone())
}

fn call(parts: &Parts, path: ResourcePath, endpoint: Endpoint, (user, body): (Arc<User>, Bytes)) -> Call {
    let text =
        |name| parts.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_string();
    Call {
        method: parts.method.clone(),
        endpoint,
        namespace: path.namespace,
        name: path.name,
        subresource: path.subresource,
        query: Query::parse(parts.uri.query().unwrap_or_default()),
        content_type: text(header::CONTENT_TYPE),
        user_agent: text(header::USER_AGENT),
        body,
        user,
        answers: Default::default(),
        identity: Default::default(),
        stale: parts.extensions.get::<Stale>().map(|stale| stale.0),
    }
}

fn serve(server: &ApiServer, world: &mut World, call: &Call, parts: &Parts) -> Result<Served, Failure> {
    if let Some(answer) = node::answer(server, world, call, parts) {
        return answer.map(Served::Stream);
    }
    let headers = &parts.headers;
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let view = View::negotiate(accept, &call.query)?;
    let encoder = Encoder::new(view, call.endpoint.clone());
    if call.method == Method::GET
        && call.name.is_none()
        && call.subresource.is_none()
        && call.query.flag("watch")
    {
        if render::wants_yaml(accept) {
            return Err(Failure::no_such_stream());
        }
        return watch(server, world, call, encoder)
            .map(|watch| Served::Stream(respond::stream(lines(watch))));
    }
    if call.method != Method::GET
        && let Some(why) = world.journal_failure()
    {
        return Err(Failure::internal(why));
    }
    Ok(Served::Answer(verb::perform(world, call)?, encoder))
}

/// A watch on a collection. On the path of an object `watch` means nothing: one object is watched by a field selector.
fn watch(server: &ApiServer, world: &World, call: &Call, encoder: Encoder) -> Result<Watch, Failure> {
    if !call.endpoint.allows("watch") {
        return Err(Failure::method_not_allowed());
    }
    let options = ListOptions::parse(&call.query)?;
    let filter = verb::filter(&call.endpoint, call.namespace.clone(), &options)?;
    let start = verb::watch_start(world, &options, call.stale)?;
    let table = call.endpoint.resource.table;
    let watch =
        Watch::begin(server.world().clone(), world, table, (start, filter, encoder), server.cut_signal());
    Ok(watch.with_timeout(options.timeout_seconds).with_bookmarks(options.bookmarks))
}

fn lines(watch: Watch) -> Body {
    let lines = futures::stream::unfold(watch, async |mut watch| Some((Ok(watch.next().await?), watch)));
    Body::lines(lines.fuse().boxed())
}

async fn read<B>(body: B) -> Result<Bytes, Failure>
where
    B: http_body::Body<Data = Bytes, Error: fmt::Display> + Send,
{
    let (mut body, mut read, mut seen) = (pin!(body), BytesMut::new(), 0);
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| {
            Failure::bad_request(format!("the body of the request could not be read: {error}"))
        })?;
        let data = frame.into_data().unwrap_or_default();
        seen += data.len();
        if seen <= BODY_LIMIT {
            // Most bodies come in one piece, which need not be copied.
            if read.is_empty() && body.is_end_stream() {
                return Ok(data);
            }
            read.extend_from_slice(&data);
        } else if seen > PATIENT_LIMIT {
            break;
        }
    }
    if seen > BODY_LIMIT { Err(too_large()) } else { Ok(read.freeze()) }
}

fn too_large() -> Failure {
    Failure::too_large(format!("limit is {BODY_LIMIT}"))
}
