//! The tower layers between a client and the wire, one file each: the layer, its service, its future and body.
//!
//! A request passes them in this order, which `stack/compose.rs` sets up:
//!
//! <!-- order: crates/kube-client/src/stack/compose.rs, above: trace warning decompression retry -->
//! <!-- order: crates/kube-client/src/stack/compose.rs, access: headers user_agent probe reauth auth base_uri redirect metrics deadline -->
//!
//! 1. `trace`: the tracing span around the request
//! 2. `warnings`: passes the `Warning` headers of the response to a handler
//! 3. `crate::stack::gzip`: decompression of the response
//! 4. `retry`: repeats what the server asks to repeat with `Retry-After` (429, 500, 503), and reads after 504 or a closed connection
//! 5. `headers`: headers of the configuration, impersonation
//! 6. the name of the program (User agent), a function of `stack/compose.rs`
//! 7. `probe`: checks that the server is alive, while a response over HTTP/1.1 is silent
//! 8. `reauth`: repeats after a 401, with a renewed credential
//! 9. `auth`: the `Authorization` header
//! 10. `base_uri`: the cluster's URL before the path
//! 11. `redirect`: follows the redirects of reads within the server
//! 12. `crate::metrics`: counters and histograms
//! 13. `deadline`: ends requests whose response does not come
//!
//! Between 4 and 5 stands `stack/access.rs`: from there on a request uses the credentials and the address of the moment. With `outdated` it
//! tells `retry` that those of a request that failed have been exchanged.
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
