//! Responds to a request as its fault demands.

use std::{fmt, io};

use bytes::Bytes;
use futures::{StreamExt, future, stream};
use http::{Response, request::Parts};

use super::{
    ApiServer,
    dispatch::{self, Stale},
};
use crate::{
    fault::{Fault, expired_line, inject, reset},
    response::{self, Body, OutputFormat, respond},
    route::RequestInfo,
    status_error::StatusError,
};

/// Responds to a request as its fault demands. An error breaks the connection.
pub(super) async fn respond<B>(
    fault: Fault,
    server: ApiServer,
    mut parts: Parts,
    body: B,
) -> io::Result<Response<Body>>
where
    B: http_body::Body<Data = Bytes, Error: fmt::Display> + Send + 'static,
{
    let (fault, lines) = flatten(fault);
    let format = OutputFormat::of(&parts);
    if lines == 0 {
        match fault {
            Fault::Response(response) => return Ok(response.into_response()),
            Fault::Reset => return Err(reset()),
            Fault::Lost => {
                drop(dispatch::respond(server, &parts, body).await);
                return Err(reset());
            }
            Fault::Stall => return future::pending().await,
            Fault::Delay(time) => {
                let clock = server.clock();
                clock.sleep(time).await;
                return Ok(dispatch::respond(server, &parts, body).await);
            }
            Fault::Expired => return Ok(format.finish(expired(&parts))),
            Fault::Stale(revision) => {
                parts.extensions.insert(Stale(revision));
                return Ok(dispatch::respond(server, &parts, body).await);
            }
            Fault::Rewind(revision) => {
                return Ok(match server.rewind(revision) {
                    Ok(()) => dispatch::respond(server, &parts, body).await,
                    Err(error) => format.finish(respond::status_error(&StatusError::internal(error))),
                });
            }
            _ => {}
        }
    }
    let clock = server.clock();
    let response = dispatch::respond(server, &parts, body).await;
    let expired = response::event(&response, expired_line());
    Ok(response.map(|body| inject((fault, lines, expired), body, clock)))
}

/// Splits a fault into the inner fault and the number of lines before it.
fn flatten(fault: Fault) -> (Fault, usize) {
    let (mut fault, mut lines) = (fault, 0usize);
    while let Fault::After(more, inner) = fault {
        (fault, lines) = (*inner, lines.saturating_add(more));
    }
    (fault, lines)
}

fn expired(parts: &Parts) -> Response<Body> {
    if RequestInfo::of(parts).verb == "watch" {
        let line = stream::iter([Ok(expired_line())]);
        return respond::stream(Body::lines(line.boxed()));
    }
    respond::status_error(&StatusError::expired("history expired by an injected fault"))
}
