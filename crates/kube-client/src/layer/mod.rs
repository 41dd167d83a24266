//! The tower layers between a client and the wire, one file each: the layer, its service, its future and body.
//!
//! A request passes them in this order, which `stack/compose.rs` sets up:
//!
//! 1. `trace`: the tracing span around the request
//! 2. `warnings`: passes the `Warning` headers of the response to a handler
//! 3. `retry`: repeats after 429, 503 and 504, and reads whose connection was closed
//! 4. `outdated`: how `crate::stack` tells `retry` that the credentials of a request that failed have been exchanged
//! 5. `headers`: headers of the configuration, impersonation
//! 6. `probe`: checks that the server is alive, while a response over HTTP/1.1 is silent
//! 7. `reauth`: repeats after a 401, with a renewed credential
//! 8. `auth`: the `Authorization` header
//! 9. `base_uri`: the cluster's URL before the path
//! 10. `redirect`: follows the redirects of reads within the server
//! 11. `crate::metrics`: counters and histograms
//! 12. `deadline`: ends requests whose response does not come
//!
//! `crate::request_kind` distinguishes short-running requests, watches, followed logs, proxied requests and upgrades for the layers that
//! treat them differently.

mod auth;
mod base_uri;
mod deadline;
mod headers;
mod outdated;
mod probe;
mod reauth;
mod redirect;
mod retry;
mod trace;
mod warnings;

pub use auth::{Auth, AuthLayer};
pub use base_uri::{BaseUri, BaseUriLayer};
pub use deadline::{Deadline, DeadlineBody, DeadlineFuture, DeadlineLayer};
pub use headers::{ExtraHeaders, ExtraHeadersLayer};
pub(crate) use outdated::Outdated;
pub(crate) use probe::ProbeLayer;
pub use reauth::{Reauth, ReauthLayer};
pub(crate) use redirect::RedirectLayer;
pub use retry::RetryPolicy;
pub use trace::{Trace, TraceFuture, TraceLayer};
pub use warnings::{WarningFuture, WarningLayer, Warnings};

use crate::request_kind;
