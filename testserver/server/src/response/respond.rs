//! Makes HTTP responses: JSON, text, `Status`, upgrades, and warnings.

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use serde_json::Value;

use super::body::Body;
use crate::status_error::StatusError;

const JSON: HeaderValue = HeaderValue::from_static("application/json");

pub(crate) fn json(code: StatusCode, body: impl Into<Bytes>, warnings: &[String]) -> Response<Body> {
    let mut response = response(code, JSON, Body::whole(body));
    for value in warnings.iter().filter_map(|warning| warning_value(warning)) {
        response.headers_mut().append(header::WARNING, value);
    }
    response
}

/// Adds a warning before those of the response.
pub(crate) fn warn_first(response: &mut Response<Body>, warning: Option<&str>) {
    let Some(first) = warning.and_then(warning_value) else { return };
    let rest: Vec<HeaderValue> = response.headers().get_all(header::WARNING).iter().cloned().collect();
    response.headers_mut().insert(header::WARNING, first);
    for value in rest {
        response.headers_mut().append(header::WARNING, value);
    }
}

fn warning_value(warning: &str) -> Option<HeaderValue> {
    let quoted = warning.replace('\\', "\\\\").replace('"', "\\\"");
    // Field names may contain any character: those that a header cannot carry are dropped.
    let safe: String = quoted.chars().filter(|c| matches!(c, ' '..='~')).collect();
    HeaderValue::from_str(&format!("299 - \"{safe}\"")).ok()
}

pub(crate) fn document(code: StatusCode, document: &Value) -> Response<Body> {
    json(code, document.to_string(), &[])
}

pub(crate) fn status_error(failure: &StatusError) -> Response<Body> {
    let mut response = json(failure.code, failure.status().to_string(), &failure.warnings);
    let seconds = failure.details.as_ref().map_or(0, |details| details.retry_after_seconds);
    if seconds > 0 {
        response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
    }
    response
}

pub(crate) fn text(code: StatusCode, text: impl Into<Bytes>) -> Response<Body> {
    response(code, HeaderValue::from_static("text/plain; charset=utf-8"), Body::whole(text))
}

pub(crate) fn empty(code: StatusCode) -> Response<Body> {
    text(code, Bytes::new())
}

/// 204 No Content.
pub(crate) fn nothing() -> Response<Body> {
    let mut response = Response::new(Body::whole(""));
    *response.status_mut() = StatusCode::NO_CONTENT;
    response
}

pub(crate) fn log(body: Body) -> Response<Body> {
    response(StatusCode::OK, HeaderValue::from_static("text/plain"), body)
}

/// The response that upgrades the connection.
pub(crate) fn switch((code, headers): (StatusCode, HeaderMap)) -> Response<Body> {
    let mut response = Response::new(Body::whole(""));
    *response.status_mut() = code;
    *response.headers_mut() = headers;
    response
}

pub(crate) fn stream(body: Body) -> Response<Body> {
    response(StatusCode::OK, JSON, body)
}

fn response(code: StatusCode, content_type: HeaderValue, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = code;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, content_type);
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    response
}
