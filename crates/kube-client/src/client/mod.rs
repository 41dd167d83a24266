//! [`Client`]: sends requests to an API server.

// `builder` puts layers around a stack (`middleware` has those of the default one) and makes a client, `handle`, which passes requests on
// by `sender`. `access` exchanges its address and credentials, the `shared_access` of all clones, `follower` when their source changes,
// which may be a `kubeconfig_secret`. Above are the `requests` whose response is decoded: `list_response` and `watch_response` as they
// arrive, both `negotiated`, unless that is `unsupported`; `websocket`, `server` for its version and kinds, `objects` of any kind, and
// those of a `kubelet`. `connect_error` tells whether nothing answered.

mod access;
mod builder;
mod follower;
mod handle;
mod kubeconfig_secret;
pub mod middleware;
mod sender;
mod shared_access;

mod connect_error;
mod list_response;
mod negotiated;
mod requests;
mod server;
mod unsupported;
mod watch_response;
#[cfg(feature = "ws")]
mod websocket;

#[cfg(feature = "kubelet-debug")]
mod kubelet;
#[cfg(feature = "unstable-client")]
mod objects;

#[doc(hidden)]
pub use access::{ClusterChange, ServerAddress};
pub use kubeconfig_secret::{KubeconfigSecret, KubeconfigSecretError};
#[expect(deprecated, reason = "the former name stays available")]
pub use list_response::ListAnswer;
pub use requests::{BuiltRequest, with_verb};
pub(crate) use server::GroupsResponse;
pub use {builder::ClientBuilder, handle::*, list_response::ListResponse};
#[doc(hidden)]
pub use {unsupported::Optional, watch_response::WatchResponse};

pub use kube_core::discovery::v2::{
    APIGroupDiscovery, APIGroupDiscoveryList, APIResourceDiscovery, APISubresourceDiscovery,
    APIVersionDiscovery, GroupVersionKind as DiscoveryGroupVersionKind,
};

pub use crate::auth::AuthError;
#[cfg(feature = "oauth")]
pub use crate::auth::OAuthError;
#[cfg(feature = "oidc")]
pub use crate::auth::oidc_errors;
#[doc(hidden)]
pub use crate::decode::{
    DecodeBy, KnownObjects, ListItems, ListPart, ObjectVersion, ReceivedItems, decode_object,
};
#[cfg(feature = "openssl-tls")]
pub use crate::tls::OpensslTlsError;
#[cfg(feature = "rustls-tls")]
pub use crate::tls::RustlsTlsError;
#[cfg(feature = "ws")]
pub use crate::websocket::{Connection, UpgradeConnectionError};
pub use crate::{body::Body, decode::Prune, received_bytes::ReceivedBytes, stack::ConfigExt, stack::DynBody};

/// Retries of refused requests.
pub mod retry {
    pub use crate::layer::RetryPolicy;
    pub use tower::retry::backoff::InvalidBackoff;
}

/// Scopes and references by which [`Client`] reads objects of any kind.
#[cfg(feature = "unstable-client")]
pub mod scope {
    pub use super::objects::{Cluster, Namespace, NamespacedRef};
}
