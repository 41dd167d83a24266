//! [`Stack`]: what every complete stack is, whatever its type.

use bytes::Bytes;
use http::{Request, Response};
use tower::BoxError;
use tower_service::Service;

use crate::body::Body;

/// The type-erased body of a response.
pub type DynBody = dyn http_body::Body<Data = Bytes, Error = BoxError> + Send + Unpin;

/// A complete stack. Clones share its connections, so each request may use its own clone.
pub(crate) trait Stack:
    Service<Request<Body>, Response = Response<Self::Body>, Error = BoxError, Future: Send + 'static>
    + Clone
    + Send
    + Sync
    + 'static
{
    /// The body of a response.
    type Body: http_body::Body<Data = Bytes, Error: Into<BoxError> + Send> + Send + Unpin + 'static;
}

impl<S, B> Stack for S
where
    S: Service<Request<Body>, Response = Response<B>, Error = BoxError, Future: Send + 'static>
        + Clone
        + Send
        + Sync
        + 'static,
    B: http_body::Body<Data = Bytes, Error: Into<BoxError> + Send> + Send + Unpin + 'static,
{
    type Body = B;
}
