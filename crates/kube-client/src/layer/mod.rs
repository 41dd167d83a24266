//! The layers between a request and the wire, each a small tower layer of the same shape: layer, service, future.

mod auth;
mod base_uri;
mod deadline;
mod headers;
#[cfg(feature = "metrics")]
mod metrics;
mod nature;
mod probe;
mod reauth;
mod retry;
mod trace;

pub use auth::{Auth, AuthLayer};
pub use base_uri::{BaseUri, BaseUriLayer};
pub use deadline::{Deadline, DeadlineBody, DeadlineFuture, DeadlineLayer};
pub use headers::{ExtraHeaders, ExtraHeadersLayer};
#[cfg(feature = "metrics")]
pub use metrics::{Metrics, MetricsBody, MetricsFuture, MetricsLayer};
pub(crate) use probe::ProbeLayer;
pub use reauth::{Reauth, ReauthLayer};
pub use retry::RetryPolicy;
pub use trace::{Trace, TraceFuture, TraceLayer};

use http::Request;

use crate::body::Body;

/// A second request like the first; `None` if its body is a stream.
fn clone_request(request: &Request<Body>) -> Option<Request<Body>> {
    let mut copy = Request::new(request.body().try_clone()?);
    *copy.method_mut() = request.method().clone();
    *copy.uri_mut() = request.uri().clone();
    *copy.version_mut() = request.version();
    copy.headers_mut().clone_from(request.headers());
    *copy.extensions_mut() = request.extensions().clone();
    Some(copy)
}
