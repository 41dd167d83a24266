//! [`Client`]: sends requests to an API server, and what it is made of.

mod builder;
#[cfg(feature = "ws")]
mod connect;
mod handle;
#[cfg(feature = "kubelet-debug")]
mod kubelet;
mod list_answer;
mod named;
#[cfg(feature = "unstable-client")]
mod objects;
mod requests;
#[cfg(feature = "unstable-client")]
pub mod scope;
mod sender;
mod server;
#[cfg(feature = "unstable-client")]
mod target;

pub use builder::ClientBuilder;
pub use handle::*;
pub use list_answer::ListAnswer;
pub(crate) use named::{Built, named};
pub(crate) use server::Advertised;

pub use kube_core::discovery::v2::{
    APIGroupDiscovery, APIGroupDiscoveryList, APIResourceDiscovery, APISubresourceDiscovery,
    APIVersionDiscovery, GroupVersionKind as DiscoveryGroupVersionKind,
};

pub use crate::auth::AuthError;
#[cfg(feature = "oauth")]
pub use crate::auth::OAuthError;
#[cfg(feature = "oidc")]
pub use crate::auth::oidc_errors;
pub use crate::body::Body;
pub use crate::decode::Prune;
pub use crate::stack::{ConfigExt, DynBody};
#[cfg(feature = "openssl-tls")]
pub use crate::tls::OpensslTlsError;
#[cfg(feature = "rustls-tls")]
pub use crate::tls::RustlsTlsError;
#[cfg(feature = "ws")]
pub use crate::upgrade::{Connection, UpgradeConnectionError};

/// The layers of a client's stack, to be used in others.
pub mod middleware {
    pub use crate::layer::{
        Auth, AuthLayer, BaseUri, BaseUriLayer, Deadline, DeadlineBody, DeadlineFuture, DeadlineLayer,
        ExtraHeaders, ExtraHeadersLayer, Reauth, ReauthLayer, Trace, TraceFuture, TraceLayer,
    };
    #[cfg(feature = "metrics")]
    pub use crate::layer::{Metrics, MetricsBody, MetricsFuture, MetricsLayer};
}

/// Repeating requests that the server asks to repeat.
pub mod retry {
    pub use crate::layer::RetryPolicy;
    pub use tower::retry::backoff::InvalidBackoff;
}
