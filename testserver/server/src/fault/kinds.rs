//! The faults that can be injected.

use std::time::Duration;

use http::Response;

use super::FaultResponse;
use crate::response::Body;

/// A fault to inject into a request.
///
/// Faults of a stream apply to its first line; [`after`](Self::after) lets lines through first.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use http_body_util::{BodyExt, Full};
/// use k8s_openapi::api::core::v1::Namespace;
/// use kube_testserver::{ApiServer, Fault, Match};
/// use tower::ServiceExt;
///
/// let server = ApiServer::new();
/// // The first watch of namespaces sends one event and half of the next, the second gets 410.
/// server.fault(Match::watch::<Namespace>().nth(1), Fault::Truncate.after(1));
/// server.fault(Match::watch::<Namespace>().nth(1), Fault::Expired);
///
/// let watch = || {
///     let request = http::Request::get("/api/v1/namespaces?watch=1").body(Full::<bytes::Bytes>::default());
///     server.clone().oneshot(request.unwrap())
/// };
/// let truncated = watch().await?.into_body().collect().await?.to_bytes();
/// assert_eq!(truncated.iter().filter(|byte| **byte == b'\n').count(), 1);
/// let expired = watch().await?.into_body().collect().await?.to_bytes();
/// assert!(expired.starts_with(br#"{"object":{"apiVersion":"v1","code":410"#));
/// # Ok::<_, Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Fault {
    /// The request is not processed; this is the response.
    Response(FaultResponse),
    /// The body ends early and cleanly: a watch between two lines, any other body before its first byte.
    Cut,
    /// The connection breaks before the request is processed. In process, the service returns an error; over a socket the connection
    /// (HTTP/1.1) or the stream (HTTP/2) is reset. After some lines of a watch, its body ends in an error.
    Reset,
    /// The request is processed, and the connection breaks before the response: the client cannot know the result.
    Lost,
    /// The body ends in the middle of a line of a watch, or halfway through any other body, as if it were complete.
    Truncate,
    /// A line of a watch is replaced by bytes that are not JSON, and the watch continues; any other body is replaced.
    Garbage,
    /// Nothing more is sent, and the connection stays open. Without [`after`](Self::after) the request is not processed and no response
    /// head is sent.
    Stall,
    /// The request is processed later by this duration, or a line of a watch is sent later. Measured on the server's clock, so
    /// [`advance`](crate::ApiServer::advance) shortens it.
    Delay(Duration),
    /// One event of a watch is dropped, and the watch continues. Other requests are not affected.
    DropEvent,
    /// Gets, lists and watches that start with the current state return the state at this earlier resourceVersion, like a server with a
    /// lagging cache. 410 when it is older than the history.
    Stale(u64),
    /// The requested history has expired: an `ERROR` event with code 410 in a watch, a 410 response otherwise.
    Expired,
    /// The server rewinds to this resourceVersion before it processes the request, as [`ApiServer::rewind`](crate::ApiServer::rewind) does.
    /// 500 when that is not possible.
    Rewind(u64),
    /// The fault, after this many lines of a watch. Other bodies have no lines.
    After(usize, Box<Fault>),
}

impl Fault {
    /// A `Status` response; [`FaultResponse`] can also set headers and body.
    ///
    /// # Panics
    /// When `code` is no HTTP status, which is 100 to 999.
    pub fn status(code: u16, reason: &'static str) -> Self {
        FaultResponse::status(code, reason).into()
    }

    /// Lets this many lines of a watch through before the fault. Bookmarks and initial objects count as lines.
    #[must_use]
    pub fn after(self, lines: usize) -> Self {
        Self::After(lines, Box::new(self))
    }
}

impl From<FaultResponse> for Fault {
    fn from(response: FaultResponse) -> Self {
        Self::Response(response)
    }
}

impl FaultResponse {
    pub(crate) fn into_response(self) -> Response<Body> {
        self.0.map(Body::whole)
    }
}
