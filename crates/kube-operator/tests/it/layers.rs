//! Services between a client and the in-process server: they block, refuse or count requests.

use bytes::Bytes;
use futures::StreamExt;
use http::{Request, Response};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody, combinators::UnsyncBoxBody};
use kube_client::{Client, client::Body};
use kube_testserver::ApiServer;
use std::{
    io,
    sync::{Arc, Mutex},
};
use tokio::sync::watch;
use tower::{ServiceExt, service_fn};

type ServerResponse = Response<UnsyncBoxBody<Bytes, Box<dyn std::error::Error + Send + Sync>>>;

/// A client with a gate for requests whose path contains `part`: while the gate is closed, requests wait; when it closes,
/// watches end.
pub(crate) fn gated(server: &ApiServer, part: &'static str) -> (Client, watch::Sender<bool>) {
    let (gate, is_open) = watch::channel(true);
    let server = server.clone();
    let service = service_fn(move |request: Request<Body>| {
        let (server, mut is_open) = (server.clone(), is_open.clone());
        async move {
            if !request.uri().path().contains(part) {
                return forward(server, request).await;
            }
            drop(is_open.wait_for(|open| *open).await);
            let (parts, body) = forward(server, request).await?.into_parts();
            let closed = async move { drop(is_open.wait_for(|open| !*open).await) };
            let until_closed =
                body.into_data_stream().take_until(Box::pin(closed)).map(|data| data.map(Frame::data));
            Ok(Response::from_parts(parts, StreamBody::new(until_closed).boxed_unsync()))
        }
    });
    (Client::new(service, "default"), gate)
}

/// A client of a server that is away while the value is `true`: connections are refused, and watches end.
pub(crate) fn refusing(server: &ApiServer) -> (Client, watch::Sender<bool>) {
    let (sender, away) = watch::channel(false);
    let server = server.clone();
    let service = service_fn(move |request: Request<Body>| {
        let (server, mut away) = (server.clone(), away.clone());
        async move {
            if *away.borrow() {
                return Err(io::Error::from(io::ErrorKind::ConnectionRefused));
            }
            let (parts, body) = forward(server, request).await?.into_parts();
            let gone = async move { drop(away.wait_for(|away| *away).await) };
            let until_gone =
                body.into_data_stream().take_until(Box::pin(gone)).map(|data| data.map(Frame::data));
            Ok(Response::from_parts(parts, StreamBody::new(until_gone).boxed_unsync()))
        }
    });
    (Client::new(service, "default"), sender)
}

/// A client, and the methods of its requests so far.
pub(crate) fn counted(server: &ApiServer) -> (Client, Arc<Mutex<Vec<String>>>) {
    let requests = Arc::new(Mutex::new(Vec::new()));
    let (server, log) = (server.clone(), Arc::clone(&requests));
    let service = service_fn(move |request: Request<Body>| {
        log.lock().unwrap().push(request.method().to_string());
        let server = server.clone();
        async move { forward(server, request).await }
    });
    (Client::new(service, "default"), requests)
}

async fn forward(server: ApiServer, request: Request<Body>) -> io::Result<ServerResponse> {
    let response = server.oneshot(request).await?;
    Ok(response.map(|body| body.map_err(Into::into).boxed_unsync()))
}
