//! The tower layers between a client and the wire, one file each: the layer, its service, its future and body.
//!
//! A request passes them in this order, which `stack/compose.rs` sets up:
//!
//! 1. `trace`: the tracing span around the request
//! 2. `retry`: repeats after 429, 503 and 504
//! 3. `headers`: headers of the configuration, impersonation
//! 4. `probe`: checks that the server is alive, while a response over HTTP/1.1 is silent
//! 5. `reauth`: repeats after a 401, with a renewed credential
//! 6. `auth`: the `Authorization` header
//! 7. `base_uri`: the cluster's URL before the path
//! 8. `crate::metrics`: counters and histograms
//! 9. `deadline`: ends requests whose response does not come
//!
//! `crate::request_kind` distinguishes short-running requests, watches, followed logs, proxied requests and upgrades for the layers that treat them
//! differently.

mod auth;
mod base_uri;
mod deadline;
mod headers;
mod probe;
mod reauth;
mod retry;
mod trace;

pub use auth::{Auth, AuthLayer};
pub use base_uri::{BaseUri, BaseUriLayer};
pub use deadline::{Deadline, DeadlineBody, DeadlineFuture, DeadlineLayer};
pub use headers::{ExtraHeaders, ExtraHeadersLayer};
pub(crate) use probe::ProbeLayer;
pub use reauth::{Reauth, ReauthLayer};
pub use retry::RetryPolicy;
pub use trace::{Trace, TraceFuture, TraceLayer};

use crate::request_kind;
