use std::time::Duration;

use http::Response;

use super::FaultResponse;
use crate::body::Body;

/// What goes wrong with a request.
///
/// Faults of a stream begin with its first line; [`after`](Self::after) lets some through before.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use http_body_util::{BodyExt, Full};
/// use k8s_openapi::api::core::v1::Namespace;
/// use kube_testserver::{ApiServer, Fault, Match};
/// use tower::ServiceExt;
///
/// let server = ApiServer::new();
/// // The first watch of namespaces brings one event and half of the next, the second one is told that it is too old.
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
    /// The request is not carried out; this is the answer.
    Response(FaultResponse),
    /// The answer ends early, cleanly: a watch between two lines, any other answer before its first byte.
    Cut,
    /// The connection breaks, before anything was done. In the process the service returns an error; over a socket the
    /// connection (HTTP/1.1) or the stream (HTTP/2) is reset. After some lines of a watch, its body ends in an error.
    Reset,
    /// The request is carried out, and the connection breaks before the answer: the client cannot know.
    Lost,
    /// The answer ends in the middle of a line of a watch, or halfway through any other body, as if it were complete.
    Truncate,
    /// A line of a watch is replaced by bytes that are no JSON, and the watch goes on; any other body is replaced.
    Garbage,
    /// Nothing more comes, and the connection stays open, for ever. Without [`after`](Self::after) not even the head of
    /// the answer comes, and nothing is done.
    Stall,
    /// The request is carried out that much later, or a line of a watch comes that much later. Counted on the server's
    /// clock, so [`advance`](crate::ApiServer::advance) shortens it.
    Delay(Duration),
    /// One event of a watch is left out, and the watch goes on. Nothing happens to other requests.
    DropEvent,
    /// The state of this earlier resourceVersion is answered, as by a server whose cache lags behind: to a get, a list,
    /// or a watch that begins with the present state. Answered with 410 when the history does not reach back so far.
    Stale(u64),
    /// The history that is asked for is gone: an `ERROR` event with code 410 in a watch, a 410 to all else.
    Expired,
    /// Before the request is carried out the server goes back to this resourceVersion, as by
    /// [`ApiServer::rewind`](crate::ApiServer::rewind). Answered with 500 when that cannot be.
    Rewind(u64),
    /// The fault, after so many lines of a watch. Other answers count as no line.
    After(usize, Box<Fault>),
}

impl Fault {
    /// A `Status` answer; [`FaultResponse`] has headers and bodies.
    ///
    /// # Panics
    /// When `code` is no HTTP status, which is 100 to 999.
    pub fn status(code: u16, reason: &'static str) -> Self {
        FaultResponse::status(code, reason).into()
    }

    /// Lets so many lines of a watch through before the fault. Bookmarks and the initial objects are lines as well.
    #[must_use]
    pub fn after(self, lines: usize) -> Self {
        Self::After(lines, Box::new(self))
    }
}

impl From<FaultResponse> for Fault {
    fn from(answer: FaultResponse) -> Self {
        Self::Response(answer)
    }
}

impl FaultResponse {
    pub(crate) fn into_response(self) -> Response<Body> {
        self.0.map(Body::whole)
    }
}
