//! Requests of the operator that come to the server, with its account.

use std::io;

use bytes::Bytes;
use http::{Request, Response, StatusCode, request::Parts};
use http_body_util::{BodyExt, Full};
use serde_json::Value;

use super::{
    answer::{Body, full, pass},
    session::Session,
};

/// Sends a request of the operator to the server as it came, past every fault.
pub(super) async fn forward(session: &Session, parts: Parts, body: Bytes) -> io::Result<Response<Body>> {
    let request = Request::from_parts(parts, Full::new(body));
    let Some(account) = session.account.get() else { return pass(&session.server, request).await };
    let response = pass(account, request).await?;
    if response.status() != StatusCode::FORBIDDEN {
        return Ok(response);
    }
    let (head, body) = response.into_parts();
    let body = body.collect().await?.to_bytes();
    let status: Value = serde_json::from_slice(&body).unwrap_or_default();
    // `User … cannot`, and `user … is attempting to grant`; not what admission refuses, as in a namespace that is being deleted.
    let why = status["message"].as_str().filter(|why| why.contains("ser \"system:serviceaccount:"));
    why.into_iter().for_each(|why| session.forbid(why));
    Ok(Response::from_parts(head, full(body)))
}
