//! From an HTTP request to its handler, and again after each webhook that the handler needs.

use std::{fmt, pin::pin, sync::Arc};

use bytes::{Bytes, BytesMut};
use futures::StreamExt;
use http::{Method, Response, StatusCode, header, request::Parts};
use http_body_util::BodyExt;

use super::{ApiServer, documents};
use crate::{
    call::{ApiResponse, Call, Content},
    cluster::ClusterState,
    crd::conversion,
    handlers,
    pods::{self, PodServer},
    rbac::User,
    response::{Body, Encoder, Media, OutputFormat, View, compress, respond},
    route::{ListOptions, Query, ResourcePath, Route},
    scheme::Endpoint,
    status_error::StatusError,
    watch::{self, Start, Watch},
    webhook::{self, Interruption},
};

/// The largest request body.
const BODY_LIMIT: usize = 3 * 1024 * 1024;
/// A larger body is read and discarded up to this size, so that its sender reads the refusal.
const DISCARD_LIMIT: usize = 16 * BODY_LIMIT;
/// Webhook calls per request. A handler repeats them when the object changes in the meantime.
const MAX_WEBHOOK_CALLS: usize = 200;

/// A request extension: the earlier revision that the response shows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stale(pub(super) u64);

/// Responds to a request without faults, in the requested format.
pub(super) async fn respond<B>(server: ApiServer, parts: &Parts, body: B) -> Response<Body>
where
    B: http_body::Body<Data = Bytes, Error: fmt::Display> + Send + 'static,
{
    compress::compress(parts, OutputFormat::of(parts).finish(dispatch(server, parts, body).await))
}

async fn dispatch<B>(server: ApiServer, parts: &Parts, body: B) -> Response<Body>
where
    B: http_body::Body<Data = Bytes, Error: fmt::Display> + Send + 'static,
{
    let authorized = server.cluster().lock().authorize(&server.identity(), parts);
    let user = match authorized {
        Ok(user) => user,
        Err(error) => return respond::status_error(&error),
    };
    let path = match Route::parse(parts.uri.path()) {
        Route::Resource(path) => path,
        other => return documents::respond(&mut server.cluster().lock(), &other, parts),
    };
    let body = match read(body).await {
        Ok(body) => body,
        Err(failure) => return respond::status_error(&failure),
    };
    let endpoint = find(&server.cluster().lock(), &path);
    let Some(endpoint) = endpoint else {
        return documents::unknown_resource(&server.cluster().lock(), &path.group, &path.version);
    };
    let warning = endpoint.version().warning.clone();
    let response = run(&server, call(parts, path, endpoint, (user, body)), parts).await;
    let mut response = response.unwrap_or_else(|failure| respond::status_error(&failure));
    respond::warn_first(&mut response, warning.as_deref());
    response
}

/// Runs the handler, and again with each webhook response that it needs. The cluster is not locked while a webhook is called.
async fn run(server: &ApiServer, mut call: Call, parts: &Parts) -> Result<Response<Body>, StatusError> {
    server.cluster().lock().run_due_tasks();
    loop {
        let result = handle(server, &mut server.cluster().lock(), &call, parts);
        let webhook_call = match result {
            Ok(Handled::Stream(response)) => return Ok(response),
            Ok(Handled::Response(response, encoder, media)) => {
                let mut response = encode(server, &call, response, &encoder).await?;
                response.extensions_mut().insert(media);
                return Ok(response);
            }
            Err(Interruption::Refused(error)) => return Err(error),
            Err(Interruption::NeedsWebhook(webhook_call)) => webhook_call,
        };
        if call.webhook_responses.len() >= MAX_WEBHOOK_CALLS {
            return Err(StatusError::internal("the object changes faster than its webhooks respond"));
        }
        let backends = server.cluster().lock().backends.clone();
        let response = webhook::send(&webhook_call, &backends).await;
        call.webhook_responses.record(*webhook_call, response);
        call.endpoint = current_endpoint(server, &call.endpoint)?;
    }
}

/// What a handler returned.
enum Handled {
    Stream(Response<Body>),
    Response(ApiResponse, Encoder, Media),
}

/// Encodes a response in the requested version and format.
async fn encode(
    server: &ApiServer,
    call: &Call,
    response: ApiResponse,
    encoder: &Encoder,
) -> Result<Response<Body>, StatusError> {
    // Only tables need the time.
    let now = if encoder.shows_ages() { server.cluster().lock().now() } else { String::new() };
    let endpoint = &call.endpoint;
    let body = match response.content {
        Content::Object(object) => {
            encoder.check_object()?;
            let objects = [object];
            let converted = conversion::to_requested_version(server.cluster(), endpoint, &objects).await;
            let converted =
                converted.map_err(|unconverted| refusal(call.unread(unconverted, &objects[0])))?;
            converted.first().map(|object| encoder.object(object, &now)).unwrap_or_default()
        }
        Content::List { objects, revision, more } => {
            encoder.check_list()?;
            let converted = conversion::to_requested_version(server.cluster(), endpoint, &objects).await;
            let converted =
                converted.map_err(|unconverted| refusal(unconverted.in_list(endpoint, &objects)))?;
            encoder.list(converted.iter().map(AsRef::as_ref), &revision.to_string(), more, &now)
        }
        Content::Document(document) => encoder.document(document)?,
    };
    Ok(respond::json(response.code, body, &response.warnings))
}

/// The refusal of a conversion that has called its webhook.
fn refusal(interruption: Interruption) -> StatusError {
    match interruption {
        Interruption::Refused(error) => error,
        Interruption::NeedsWebhook(_) => {
            StatusError::internal("the conversion asks for a second webhook call")
        }
    }
}

/// The endpoint after the lock was released: its CRD may have changed.
fn current_endpoint(server: &ApiServer, endpoint: &Endpoint) -> Result<Endpoint, StatusError> {
    let cluster = server.cluster().lock();
    let current = cluster.scheme().find(endpoint.group(), &endpoint.version().name, endpoint.plural());
    current.cloned().ok_or_else(StatusError::no_such_path)
}

/// The endpoint of a path, if the path fits its scope.
fn find(cluster: &ClusterState, path: &ResourcePath) -> Option<Endpoint> {
    let endpoint = cluster.scheme().find(&path.group, &path.version, &path.plural)?;
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
        webhook_responses: Default::default(),
        identity: Default::default(),
        stale: parts.extensions.get::<Stale>().map(|stale| stale.0),
    }
}

fn handle(
    server: &ApiServer,
    cluster: &mut ClusterState,
    call: &Call,
    parts: &Parts,
) -> Result<Handled, Interruption> {
    if let Some(subresource) = pods::node_subresource(call) {
        let pods = PodServer {
            context: cluster.admission_context(),
            kubelet: &cluster.kubelet,
            connections: server.connections(),
            cut: server.end_signal(),
        };
        return pods.respond(subresource, call, parts).map(Handled::Stream);
    }
    let headers = &parts.headers;
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let (view, media) = View::negotiate(accept, &call.query, call.offer())?;
    let encoder = Encoder::new(view, call.endpoint.clone());
    if call.method == Method::GET
        && call.name.is_none()
        && call.subresource.is_none()
        && call.query.flag("watch")
    {
        if media == Media::Yaml {
            return Err(StatusError::no_such_stream().into());
        }
        let watch = watch(server, cluster, call, encoder)?;
        let mut response = respond::stream(lines(watch));
        if call.query.flag("sendInitialEvents") && call.query.flag("allowWatchBookmarks") {
            response.extensions_mut().insert(compress::InitialEvents);
        }
        response.extensions_mut().insert(media);
        return Ok(Handled::Stream(response));
    }
    let response = handlers::perform(cluster, call)?;
    // Nobody sees an acknowledged write before the disk has it: the cluster is still locked.
    cluster.sync_journal()?;
    Ok(Handled::Response(response, encoder, media))
}

/// A watch on a collection. `watch` is ignored on the path of an object: a field selector watches one object.
fn watch(
    server: &ApiServer,
    cluster: &ClusterState,
    call: &Call,
    encoder: Encoder,
) -> Result<Watch, Interruption> {
    if !call.endpoint.allows("watch") {
        return Err(StatusError::method_not_allowed().into());
    }
    let options = ListOptions::parse(&call.query)?;
    let filter = watch::filter(&call.endpoint, call.namespace.clone(), &options)?;
    // Genuine servers begin the stream before they find that the resourceVersion does not come.
    let (start, refusal) = match watch::start(cluster.store(), &options, call.stale) {
        Err(error) if error.code == StatusCode::GATEWAY_TIMEOUT => (Start::After(0), Some(error)),
        start => (start?, None),
    };
    let table = call.endpoint.resource.table;
    if call.endpoint.resource.conversion.is_some() {
        let all: Vec<_> = cluster.store().objects(table, None).cloned().collect();
        conversion::in_requested_version(cluster.storage(), &call.endpoint, &call.webhook_responses, &all)
            .map_err(|unconverted| unconverted.in_watch(&call.endpoint, &all))?;
    }
    let watch =
        Watch::begin(server.cluster().clone(), cluster, table, (start, filter, encoder), server.end_signal());
    let watch = watch.with_timeout(options.timeout_seconds).with_bookmarks(options.bookmarks);
    Ok(match refusal {
        Some(refusal) => watch.refused(refusal),
        None => watch,
    })
}

fn lines(watch: Watch) -> Body {
    let lines = futures::stream::unfold(watch, async |mut watch| Some((Ok(watch.next().await?), watch)));
    Body::lines(lines.fuse().boxed())
}

async fn read<B>(body: B) -> Result<Bytes, StatusError>
where
    B: http_body::Body<Data = Bytes, Error: fmt::Display> + Send,
{
    let (mut body, mut read, mut seen) = (pin!(body), BytesMut::new(), 0);
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| {
            StatusError::bad_request(format!("the body of the request could not be read: {error}"))
        })?;
        let data = frame.into_data().unwrap_or_default();
        seen += data.len();
        if seen <= BODY_LIMIT {
            // Most bodies have one frame, which is not copied.
            if read.is_empty() && body.is_end_stream() {
                return Ok(data);
            }
            read.extend_from_slice(&data);
        } else if seen > DISCARD_LIMIT {
            break;
        }
    }
    if seen > BODY_LIMIT { Err(too_large()) } else { Ok(read.freeze()) }
}

fn too_large() -> StatusError {
    StatusError::too_large(format!("limit is {BODY_LIMIT}"))
}
