//! A response in place of the server's own, as a fault.

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Response, StatusCode, header};

use crate::status_error::{Details, StatusError};

/// A response in place of the server's own: status code, headers and body, by default a `Status` object.
///
/// ```
/// use kube_testserver::{FaultResponse, ApiServer, Match};
/// use k8s_openapi::api::core::v1::Pod;
///
/// let server = ApiServer::new();
/// server.fault(Match::create::<Pod>().times(3), FaultResponse::status(429, "TooManyRequests").retry_after(1));
/// ```
#[derive(Clone, Debug)]
pub struct FaultResponse(pub(super) Response<Bytes>);

impl FaultResponse {
    /// A `Status` object with this code and reason (`TooManyRequests`, `InternalError`, ...).
    ///
    /// # Panics
    /// When `code` is no HTTP status, which is 100 to 999.
    pub fn status(code: u16, reason: &'static str) -> Self {
        let code = StatusCode::from_u16(code).expect("the status code is an HTTP status, 100 to 999");
        let failure = StatusError::new(code, reason, "fault injected by the test").about(Details::default());
        let mut response = Response::new(failure.status().to_string().into());
        *response.status_mut() = code;
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        Self(response)
    }

    /// Sets `Retry-After` in seconds.
    #[must_use]
    pub fn retry_after(self, seconds: u32) -> Self {
        self.header(header::RETRY_AFTER, seconds.into())
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.0.headers_mut().append(name, value);
        self
    }

    /// Sends this body instead of a `Status`; the content type stays `application/json`.
    #[must_use]
    pub fn body(mut self, body: impl Into<Bytes>) -> Self {
        *self.0.body_mut() = body.into();
        self
    }
}

impl From<Response<Bytes>> for FaultResponse {
    fn from(response: Response<Bytes>) -> Self {
        Self(response)
    }
}
