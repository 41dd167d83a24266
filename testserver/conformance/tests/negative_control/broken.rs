//! The embedded server behind a service that breaks it.

use std::{io, net::Ipv4Addr};

use bytes::Bytes;
use futures::StreamExt;
use http::{Request, Response, header};
use http_body_util::{BodyExt, BodyStream, Full, StreamBody, combinators::UnsyncBoxBody};
use hyper::body::{Frame, Incoming};
use kube_serve::listener::Listener;
use kube_testserver::{ApiServer, TestServer, User};
use serde_json::{Value, json};
use tokio::{sync::oneshot, task::JoinHandle};
use tower::ServiceExt;

use crate::{
    identities,
    message::{Answer, SentRequest},
    table::{Breakage, How},
};

/// The token of the context `viewer`, which has a client certificate on a server with TLS. A request without a token is an administrator's.
const VIEWER_TOKEN: &str = "token-instead-of-certificate";

/// A server with RBAC on a loopback port. Requests pass through the breakage.
pub(crate) struct BrokenServer {
    inner: TestServer,
    address: std::net::SocketAddr,
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

type Body = UnsyncBoxBody<Bytes, io::Error>;

impl BrokenServer {
    pub(crate) async fn start(breakage: Option<&'static Breakage>) -> Self {
        let inner = identities::with_users(User::new("viewer").token(VIEWER_TOKEN))
            .start()
            .await
            .expect("the embedded server starts");
        let api = inner.api();
        let service = tower::service_fn(move |request| respond(breakage, api.clone(), request));
        let listener = Listener::bind((Ipv4Addr::LOCALHOST, 0).into()).await.expect("a free port");
        let address = listener.local_addr();
        let (stop, stopped) = oneshot::channel::<()>();
        let task = tokio::spawn(async move {
            let listener = listener.drain_deadline(std::time::Duration::ZERO);
            listener.serve(service, async { drop(stopped.await) }).await;
        });
        Self { inner, address, stop, task }
    }

    pub(crate) fn kubeconfig(&self) -> String {
        let tokens = identities::TOKENS.map(|(name, _, token)| (name, json!({"token": token})));
        let all =
            [("admin", json!({})), ("viewer", json!({"token": VIEWER_TOKEN}))].into_iter().chain(tokens);
        let (contexts, users): (Vec<Value>, Vec<Value>) = all
            .map(|(name, user)| {
                let context = json!({"name": name, "context": {"cluster": "broken", "user": name}});
                (context, json!({"name": name, "user": user}))
            })
            .unzip();
        let cluster = json!({"name": "broken", "cluster": {"server": format!("http://{}", self.address)}});
        json!({
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "admin",
            "clusters": [cluster],
            "contexts": contexts,
            "users": users,
        })
        .to_string()
    }

    pub(crate) async fn stop(self) {
        drop(self.stop);
        self.task.await.expect("the service ends without a panic");
        self.inner.shutdown().await;
    }
}

/// Passes a request to the server, changed as the breakage says, and returns its response, changed likewise.
async fn respond(
    breakage: Option<&'static Breakage>,
    api: ApiServer,
    request: Request<Incoming>,
) -> io::Result<Response<Body>> {
    let (parts, body) = request.into_parts();
    let upgrades = parts.headers.contains_key(header::UPGRADE);
    let body =
        if upgrades { Bytes::new() } else { body.collect().await.map_err(io::Error::other)?.to_bytes() };
    let mut sent = SentRequest { parts, body };
    let how = breakage.map(|breakage| &breakage.how);
    match how {
        Some(How::Request(change)) => change(&mut sent),
        // Compressed responses are not read below.
        Some(How::Response(_) | How::Event(_)) => drop(sent.parts.headers.remove(header::ACCEPT_ENCODING)),
        None => {}
    }
    let original = sent.clone();
    let response = api.oneshot(Request::from_parts(sent.parts, Full::new(sent.body))).await?;
    let streamed = original.is_watch() && response.status().is_success();
    let unread = upgrades || original.path().ends_with("/log");
    match how {
        Some(How::Event(change)) if streamed => Ok(response.map(|body| changed_events(body, *change))),
        Some(How::Response(change)) if !streamed && !unread => {
            changed_response(response, &original, *change).await
        }
        _ => Ok(response.map(|body| body.boxed_unsync())),
    }
}

async fn changed_response(
    response: Response<kube_testserver::Body>,
    sent: &SentRequest,
    change: fn(&SentRequest, &mut Answer),
) -> io::Result<Response<Body>> {
    let (mut parts, body) = response.into_parts();
    let bytes = body.collect().await?.to_bytes();
    let before = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
    let mut answer = Answer { status: parts.status, headers: parts.headers, body: before.clone() };
    change(sent, &mut answer);
    // The bytes are kept where possible: indentation and the order of fields are the server's.
    let bytes = if answer.body == before { bytes } else { answer.body.to_string().into() };
    (parts.status, parts.headers) = (answer.status, answer.headers);
    parts.headers.remove(header::CONTENT_LENGTH);
    Ok(Response::from_parts(parts, Full::new(bytes).map_err(|never| match never {}).boxed_unsync()))
}

/// The lines of a watch; each frame of the embedded server is one or several whole lines.
fn changed_events(body: kube_testserver::Body, change: fn(&mut Value) -> bool) -> Body {
    let frames = BodyStream::new(body).map(move |frame| {
        let data = frame?.into_data().unwrap_or_default();
        let mut out = Vec::new();
        for line in data.split_inclusive(|byte| *byte == b'\n') {
            let mut event: Value = serde_json::from_slice(line).map_err(io::Error::other)?;
            if change(&mut event) {
                out.extend_from_slice(format!("{event}\n").as_bytes());
            }
        }
        Ok(Frame::data(Bytes::from(out)))
    });
    StreamBody::new(frames).boxed_unsync()
}
