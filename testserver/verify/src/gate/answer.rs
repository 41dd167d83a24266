//! Responses.

use std::io;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full, combinators::UnsyncBoxBody};
use kube_testserver::ApiServer;
use serde_json::{Value, json};
use tower::ServiceExt;

/// The body of a response.
pub type Body = UnsyncBoxBody<Bytes, io::Error>;

/// A body of these bytes.
pub(super) fn full(bytes: Bytes) -> Body {
    Full::new(bytes).map_err(|never| match never {}).boxed_unsync()
}

/// A refusal, as the API server writes it.
pub(super) fn refusal(code: u16, reason: &str, message: &str) -> Response<Body> {
    let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message,
        "reason": reason, "code": code});
    let response = Response::builder().status(code).header("content-type", "application/json");
    let response = if code == 429 { response.header("retry-after", "1") } else { response };
    response.body(full(status.to_string().into())).expect("invariant: the response is valid")
}

/// Sends a request to the server, past every fault.
pub(super) async fn pass(server: &ApiServer, request: Request<Full<Bytes>>) -> io::Result<Response<Body>> {
    let response = server.clone().oneshot(request).await.map_err(io::Error::other)?;
    Ok(response.map(|body| body.map_err(io::Error::other).boxed_unsync()))
}

/// Sends JSON to the server, past every fault; the code and the object of the answer.
pub(crate) async fn call(
    server: &ApiServer,
    method: &str,
    uri: &str,
    content_type: &str,
    body: Option<&Value>,
) -> (u16, Value) {
    let bytes = body.map(Value::to_string).unwrap_or_default();
    let request = Request::builder().method(method).uri(uri).header("content-type", content_type);
    let Ok(request) = request.body(Full::new(Bytes::from(bytes))) else { return (0, Value::Null) };
    let Ok(response) = pass(server, request).await else { return (0, Value::Null) };
    let code = response.status().as_u16();
    let bytes = response.into_body().collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    (code, serde_json::from_slice(&bytes).unwrap_or_default())
}
