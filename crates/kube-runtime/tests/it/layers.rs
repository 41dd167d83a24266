//! Services between a client and the in-process server: they delay, block, refuse, count or disturb requests. The tests of kube-operator
//! include this file.

#![allow(dead_code)] // each of the two uses a part

use bytes::Bytes;
use futures::StreamExt;
use http::{Method, Request, Response};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody, combinators::UnsyncBoxBody};
use kube_client::{Client, client::Body};
use kube_testserver::ApiServer;
use std::{
    future::Future,
    io,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::{sync::watch, time::sleep};
use tower::{ServiceExt, service_fn};

type ServerResponse = Response<UnsyncBoxBody<Bytes, Box<dyn std::error::Error + Send + Sync>>>;

/// A client whose watch events arrive `lag` late.
pub(crate) fn lagging(server: &ApiServer, lag: Duration) -> Client {
    let server = server.clone();
    let service = service_fn(move |request: Request<Body>| {
        let server = server.clone();
        let lag = if is_watch(&request) { lag } else { Duration::ZERO };
        async move {
            let (parts, body) = forward(server, request).await?.into_parts();
            let delayed = body.into_data_stream().then(move |data| async move {
                sleep(lag).await;
                data.map(Frame::data)
            });
            Ok::<_, io::Error>(Response::from_parts(parts, StreamBody::new(delayed).boxed_unsync()))
        }
    });
    Client::new(service, "default")
}

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
            let closed = async move { drop(is_open.wait_for(|open| !*open).await) };
            Ok(ending(forward(server, request).await?, closed))
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
            let gone = async move { drop(away.wait_for(|away| *away).await) };
            Ok(ending(forward(server, request).await?, gone))
        }
    });
    (Client::new(service, "default"), sender)
}

/// A client whose requests are delayed depending on their path.
pub(crate) fn delayed(
    server: &ApiServer,
    delay: impl Fn(&str) -> Duration + Send + Sync + 'static,
) -> Client {
    let (server, delay) = (server.clone(), Arc::new(delay));
    let service = service_fn(move |request: Request<Body>| {
        let (server, wait) = (server.clone(), delay(request.uri().path()));
        async move {
            sleep(wait).await;
            forward(server, request).await
        }
    });
    Client::new(service, "default")
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

/// A client that runs `interfere` before each PATCH, and the number of PATCH requests.
pub(crate) fn interfering<F: Future<Output = ()> + Send + 'static>(
    server: &ApiServer,
    interfere: impl Fn() -> F + Send + Sync + 'static,
) -> (Client, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let counting = move || {
        counted.fetch_add(1, Ordering::Relaxed);
        interfere()
    };
    (interfering_with(server, Method::PATCH, counting), count)
}

/// A client that runs `interfere` before each request with this method.
pub(crate) fn interfering_with<F: Future<Output = ()> + Send + 'static>(
    server: &ApiServer,
    method: Method,
    interfere: impl Fn() -> F + Send + Sync + 'static,
) -> Client {
    let (server, interfere) = (server.clone(), Arc::new(interfere));
    let service = service_fn(move |request: Request<Body>| {
        let (server, interfere) = (server.clone(), Arc::clone(&interfere));
        let is_meant = *request.method() == method;
        async move {
            if is_meant {
                interfere().await;
            }
            forward(server, request).await
        }
    });
    Client::new(service, "default")
}

/// The response with a body that ends with `end`.
fn ending(response: ServerResponse, end: impl Future<Output = ()> + Send + 'static) -> ServerResponse {
    response.map(|body| {
        let data = body.into_data_stream().take_until(Box::pin(end)).map(|data| data.map(Frame::data));
        StreamBody::new(data).boxed_unsync()
    })
}

fn is_watch(request: &Request<Body>) -> bool {
    request.uri().query().is_some_and(|query| query.contains("watch="))
}

async fn forward(server: ApiServer, request: Request<Body>) -> io::Result<ServerResponse> {
    let response = server.oneshot(request).await?;
    Ok(response.map(|body| body.map_err(Into::into).boxed_unsync()))
}

/// A client of a process that dies after so many writes: whatever it sends after that is refused.
pub(crate) fn dying_after(server: &ApiServer, writes: usize) -> Client {
    let (server, left) = (server.clone(), Arc::new(AtomicUsize::new(writes + 1)));
    let service = service_fn(move |request: Request<Body>| {
        let (server, left) = (server.clone(), Arc::clone(&left));
        async move {
            if request.method() != Method::GET {
                let _ = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
            }
            match left.load(Ordering::Relaxed) {
                0 => Err(io::Error::from(io::ErrorKind::ConnectionRefused)),
                _ => forward(server, request).await,
            }
        }
    });
    Client::new(service, "default")
}

/// A client of a server that answers 500 to requests whose method and path are refused by `is_refused`.
pub(crate) fn failing(
    server: &ApiServer,
    is_refused: impl Fn(&Method, &str) -> bool + Send + Sync + 'static,
) -> Client {
    let (server, is_refused) = (server.clone(), Arc::new(is_refused));
    let service = service_fn(move |request: Request<Body>| {
        let (server, refused) = (server.clone(), is_refused(request.method(), request.uri().path()));
        async move {
            if refused {
                return Err(io::Error::other("the server is confused"));
            }
            forward(server, request).await
        }
    });
    Client::new(service, "default")
}
