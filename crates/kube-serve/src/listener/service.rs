//! The bounds of a service that a listener serves, written once.

use hyper::body::Incoming;
use tower_service::Service;

/// The error type that services and bodies may end with; it is logged, and the connection is closed.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// What a [`Listener`](super::Listener) serves: a cloneable tower service from requests to responses. Implemented for every
/// service that fits; a blanket spelling of its bounds.
pub trait HttpService:
    Service<
        http::Request<Incoming>,
        Response = http::Response<Self::Body>,
        Error: Into<BoxError>,
        Future: Send,
    > + Clone
    + Send
    + 'static
{
    /// The body of its responses.
    type Body: http_body::Body<Data: Send, Error: Into<BoxError>> + Send + 'static;
}

impl<S, B> HttpService for S
where
    S: Service<http::Request<Incoming>, Response = http::Response<B>, Error: Into<BoxError>, Future: Send>
        + Clone
        + Send
        + 'static,
    B: http_body::Body<Data: Send, Error: Into<BoxError>> + Send + 'static,
{
    type Body = B;
}
