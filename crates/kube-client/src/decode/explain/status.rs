//! Error responses, with and without a `Status`.

use std::fmt;

use bytes::Bytes;
use http::header::{LOCATION, RETRY_AFTER};
use http::{HeaderMap, Response, StatusCode, Uri};
use http_body_util::{BodyExt, Limited};
use kube_core::Status;
use kube_core::response::{StatusDetails, StatusSummary, reason};

use crate::body::Body;
use crate::config::write_origin;
use crate::decode::protobuf::{is_protobuf, status_json};
use crate::decode::read::read_plain;
use crate::error::Error;

/// Returns 2xx responses; others are [`Error::Api`] with code, reason, message and Retry-After.
pub(crate) async fn expect_success(response: Response<Body>) -> Result<Response<Body>, Error> {
    if response.status().is_success() { Ok(response) } else { Err(read_error(response).await) }
}

async fn read_error(response: Response<Body>) -> Error {
    let (head, body) = response.into_parts();
    let bytes = match Limited::new(body, MAX_ERROR_BODY).collect().await {
        Ok(collected) => collected.to_bytes(),
        // The status code is more useful than the reason why the body failed.
        Err(_) => Bytes::new(),
    };
    let bytes = if is_protobuf(&head.headers) { status_json(&bytes).into() } else { bytes };
    Error::Api(read_status(head.status, &head.headers, &bytes).boxed())
}

/// A `Status` is rarely more than a few kilobytes.
const MAX_ERROR_BODY: usize = 4 << 20;

/// How many characters of a body without a `Status` the message contains.
const MAX_SHOWN: usize = 1024;

fn read_status(code: StatusCode, headers: &HeaderMap, body: &[u8]) -> Status {
    let parsed = read_plain::<Status>(body).ok();
    // Any JSON object decodes as an empty Status.
    let parsed = parsed.filter(|status| status.status.is_some() || !status.message.is_empty());
    let mut status = match redirect(code, headers) {
        Some(redirect) => redirect,
        None => parsed.unwrap_or_else(|| from_text(code, body)),
    };
    if status.code == 0 {
        status.code = code.as_u16();
    }
    status.status.get_or_insert(StatusSummary::Failure);
    let seconds = headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.trim().parse().ok());
    if let Some(seconds) = seconds {
        let details = status.details.get_or_insert_with(no_details);
        if details.retry_after_seconds == 0 {
            details.retry_after_seconds = seconds;
        }
    }
    status
}

/// A redirect that was not followed. The query of its target may have a secret, and is left out.
fn redirect(code: StatusCode, headers: &HeaderMap) -> Option<Status> {
    let location = headers.get(LOCATION).filter(|_| code.is_redirection())?.to_str().ok()?;
    let shown = match location.parse::<Uri>() {
        Ok(target) => format!("{}", Location(&target)),
        Err(_) => format!("{location:?}"),
    };
    let message = format!(
        "the server redirects to {shown}: only GET and HEAD follow a redirect, and only to the same scheme, host and port"
    );
    Some(Status::failure(&message, reason_of(code)).with_code(code.as_u16()))
}

struct Location<'a>(&'a Uri);

impl fmt::Display for Location<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.authority().is_some() {
            write_origin(self.0, f)?;
        }
        f.write_str(self.0.path())
    }
}

fn from_text(code: StatusCode, body: &[u8]) -> Status {
    let text = String::from_utf8_lossy(body);
    let mut message: String = text.trim().chars().take(MAX_SHOWN).collect();
    if message.is_empty() {
        code.canonical_reason().unwrap_or("the response has no message").clone_into(&mut message);
    }
    Status::failure(&message, reason_of(code)).with_code(code.as_u16())
}

/// The reason that an API server sends with this code.
fn reason_of(code: StatusCode) -> &'static str {
    match code.as_u16() {
        400 => reason::BAD_REQUEST,
        401 => reason::UNAUTHORIZED,
        403 => reason::FORBIDDEN,
        404 => reason::NOT_FOUND,
        405 => reason::METHOD_NOT_ALLOWED,
        406 => reason::NOT_ACCEPTABLE,
        409 => reason::CONFLICT,
        410 => reason::GONE,
        413 => reason::REQUEST_ENTITY_TOO_LARGE,
        415 => reason::UNSUPPORTED_MEDIA_TYPE,
        422 => reason::INVALID,
        429 => reason::TOO_MANY_REQUESTS,
        500 => reason::INTERNAL_ERROR,
        503 => reason::SERVICE_UNAVAILABLE,
        504 => reason::TIMEOUT,
        _ => reason::UNKNOWN,
    }
}

fn no_details() -> StatusDetails {
    StatusDetails {
        name: String::new(),
        group: String::new(),
        kind: String::new(),
        uid: String::new(),
        causes: Vec::new(),
        retry_after_seconds: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_redirect_that_is_not_followed_has_its_location_and_no_secret() {
        let response =
            Response::builder().status(302).header(LOCATION, "https://u:hush@login.example/in?token=hush");
        let response = response.body(Body::from(b"<a href=x>Found</a>".to_vec())).unwrap();
        let text = expect_success(response).await.err().unwrap().to_string();
        assert!(
            text.contains("the server redirects to https://login.example/in: only GET and HEAD"),
            "{text}"
        );
        assert!(text.contains("302") && !text.contains("hush"), "{text}");
    }

    async fn status(code: u16, retry_after: Option<&str>, body: impl Into<Vec<u8>>) -> Status {
        let mut response = Response::builder().status(code);
        if let Some(value) = retry_after {
            response = response.header(RETRY_AFTER, value);
        }
        match expect_success(response.body(Body::from(body.into())).unwrap()).await {
            Err(Error::Api(status)) => *status,
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn a_status_is_kept() {
        let body = r#"{"kind":"Status","status":"Failure","message":"pods \"a\" not found","reason":"NotFound",
                       "details":{"name":"a","kind":"pods"},"code":404}"#;
        let status = status(404, None, body).await;
        assert!(status.is_not_found());
        assert_eq!(status.details.unwrap().name, "a");
    }

    #[tokio::test]
    async fn other_bodies_become_a_status_with_code_and_beginning_of_the_text() {
        let plain = status(502, None, "<html>bad gateway</html>\n").await;
        assert_eq!((plain.code, plain.message.as_str()), (502, "<html>bad gateway</html>"));
        let long = status(500, None, "x".repeat(5000)).await;
        assert_eq!((long.reason.as_str(), long.message.len()), ("InternalError", 1024));
        let empty = status(403, None, "").await;
        assert!(empty.is_forbidden() && empty.is_failure());
        assert_eq!(empty.message, "Forbidden");
        let json = status(404, None, r#"{"error":"no route"}"#).await;
        assert_eq!(json.message, r#"{"error":"no route"}"#);
        let redirect = status(302, None, "").await;
        assert_eq!(redirect.code, 302);
        let bytes = status(500, None, [0xFF, 0xFE]).await;
        assert_eq!(bytes.code, 500);
    }

    #[test]
    fn a_status_is_read_from_yaml_too() {
        let yaml = "status: Failure\ncode: 404\nmetadata: {}\ndetails:\n  name: a\n  causes:\n  - field: b\n";
        let status: Status = serde_saphyr::from_str(yaml).unwrap();
        assert_eq!((status.code, status.details.unwrap().causes[0].field.as_str()), (404, "b"));
        assert!(serde_saphyr::from_str::<Status>("code: x").unwrap_err().to_string().contains("invalid u16"));
    }

    #[tokio::test]
    async fn retry_after_is_read_from_the_header_unless_the_status_has_it() {
        let from_header = status(429, Some("7"), "busy").await;
        assert_eq!(from_header.details.unwrap().retry_after_seconds, 7);
        let own = r#"{"status":"Failure","details":{"retryAfterSeconds":3}}"#;
        assert_eq!(status(429, Some("7"), own).await.details.unwrap().retry_after_seconds, 3);
        assert!(status(429, Some("soon"), "busy").await.details.is_none());
    }

    #[tokio::test]
    async fn a_success_is_returned() {
        let ok = Response::builder().status(201).body(Body::empty()).unwrap();
        assert!(expect_success(ok).await.is_ok());
    }
}
