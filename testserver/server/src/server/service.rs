//! The tower service: finds the fault of a request, responds, reports to the observer.

use std::{
    fmt,
    future::Future,
    io,
    pin::Pin,
    task::{Context, Poll},
    time::{Duration, Instant},
};

use bytes::Bytes;
use http::{Request, Response, header, request::Parts};
use tower::Service;

use super::{
    ApiServer, dispatch, faults,
    observer::{Observer, RequestRecord},
};
use crate::response::{Body, compress};

impl<B> Service<http::Request<B>> for ApiServer
where
    B: http_body::Body<Data = Bytes, Error: fmt::Display> + Send + 'static,
{
    type Response = http::Response<Body>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<B>) -> Self::Future {
        let server = self.clone();
        Box::pin(handle(server, request))
    }
}

/// Responds to a request, applies the fault that matches it, and reports both to the observer.
async fn handle<B>(server: ApiServer, request: Request<B>) -> io::Result<Response<Body>>
where
    B: http_body::Body<Data = Bytes, Error: fmt::Display> + Send + 'static,
{
    let (parts, body) = request.into_parts();
    let accepts_gzip = compress::accepts_gzip(&parts.headers);
    let observed =
        server.observer().cloned().map(|observer| (observer, request_record(&parts), Instant::now()));
    let response = match server.matching_fault(&parts) {
        Some(fault) => faults::respond(fault, server, parts, body).await,
        None => Ok(dispatch::respond(server, &parts, body).await),
    };
    // After faults, which are about single events.
    let response = if accepts_gzip { response.map(compress::compress_events) } else { response };
    if let Some((Observer(notify), record, began)) = observed {
        let code = response.as_ref().map_or(0, |response| response.status().as_u16());
        notify(&RequestRecord { code, took: began.elapsed(), ..record });
    }
    response
}

fn request_record(parts: &Parts) -> RequestRecord {
    let agent = parts.headers.get(header::USER_AGENT).and_then(|value| value.to_str().ok());
    RequestRecord {
        method: parts.method.clone(),
        uri: parts.uri.clone(),
        user_agent: agent.unwrap_or_default().into(),
        code: 0,
        took: Duration::ZERO,
    }
}
