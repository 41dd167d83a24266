//! A client for Kubernetes: configuration, credentials, TLS, HTTP, and a typed interface to every resource.
//!
//! - [`Config`] has the cluster, the credentials and the connection settings; [`Config::infer`] finds it.
//! - [`Client`] sends requests. It is cheap to clone, and made of tower layers that can be replaced.
//! - [`Api`] is the typed interface to one kind of object.
//! - [`Discovery`] lists the kinds that a cluster serves.
//! - The crate `kube-tools` has what programs do beyond single requests: files of YAML, waiting, tables, running pods.
//!
//! ```no_run
//! use k8s_openapi::api::core::v1::Pod;
//! use kube_client::{Api, Client, ResourceExt, api::ListParams};
//!
//! # async fn run() -> kube_client::Result<()> {
//! let client = Client::try_default().await?;
//! let pods: Api<Pod> = Api::default_namespaced(client);
//! for pod in pods.list(&ListParams::default()).await? {
//!     println!("{}", pod.name_any());
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Features
//! `config` enables the configuration only, `client` everything else.
//!
//! | feature | enables |
//! |---|---|
//! | `rustls-tls`, with `ring` or `aws-lc-rs` | TLS by rustls; with both of the latter, by aws-lc-rs |
//! | `openssl-tls` | TLS by OpenSSL; if rustls is enabled too, the default stack uses rustls, and [`ConfigExt`](client::ConfigExt) has OpenSSL |
//! | `webpki-roots` | with rustls, Mozilla's CA certificates, built in, instead of the platform's |
//! | `http-proxy`, `socks5`, `proxy` (both) | [proxies](Config::proxy_url) |
//! | `oidc`, `oauth` | OpenID Connect tokens and their refresh, Google's default credentials |
//! | `ws` | exec, attach and port-forward |
//! | `gzip` | compressed responses |
//! | `metrics` | the `rest_client_*` metrics |
//! | `unstable-client` | objects by scope or by reference, without an `Api` |
//! | `hyper-util-tracing` | `tracing` events of TCP connections |

// In the order in which a request passes them:
//
// - `config` is found; `api`, `discovery` and `client` are what programs call; `request_kind` tells requests apart, `reconcile` says which
//   reconcile makes one.
// - `stack` composes the layers of `layer`; credentials come from `auth`.
// - `connect` opens connections, with `tls`; `transport` keeps them and carries the request, with its `body`.
// - `decode` makes objects of the bytes, which `received_bytes` counts; `websocket` is a connection that was upgraded.
// - For all: `error` has the errors, `chain` shows their causes; `metrics` counts; `time` is the present; `task` is work that ends with a
//   future; `blocking_read` reads files, of which `file_version` tells whether they have changed; `new_file` replaces them as a whole.

#[cfg(all(
    any(feature = "oidc", feature = "oauth"),
    not(any(feature = "rustls-tls", feature = "openssl-tls"))
))]
compile_error!(
    "the features `oidc` and `oauth` need TLS to fetch tokens: enable `rustls-tls` or `openssl-tls` as well"
);

// The configuration: kubeconfig, in-cluster, or set by the program.
#[cfg(feature = "config")]
pub mod config;

// What programs call: typed requests, discovery, and any request.
#[cfg(feature = "client")]
pub mod api;
#[cfg(feature = "client")]
pub mod client;
#[cfg(feature = "client")]
pub mod discovery;

// Which reconcile makes a request.
#[cfg(feature = "client")]
pub mod reconcile;

// The layers that a request passes, and the stack that they form.
#[cfg(feature = "client")]
mod layer;
#[cfg(feature = "client")]
mod request_kind;
#[cfg(feature = "client")]
mod stack;

// Credentials.
#[cfg(feature = "client")]
mod auth;

// Connections: proxies, TLS, HTTP/1.1 and HTTP/2.
#[cfg(feature = "client")]
mod connect;
#[cfg(feature = "client")]
#[cfg_attr(
    not(any(feature = "rustls-tls", feature = "openssl-tls")),
    allow(dead_code, unused_variables, reason = "without a TLS library, only a few of its types are used")
)]
mod tls;
#[cfg(feature = "client")]
mod transport;

// The response: its body, decoded to objects, lists and events, or upgraded to a websocket.
#[cfg(feature = "client")]
mod body;
#[cfg(feature = "client")]
mod decode;
#[cfg(feature = "client")]
mod received_bytes;
#[cfg(feature = "ws")]
mod websocket;

// Errors, metrics and fuzzing.
#[cfg(feature = "config")]
mod chain;
#[cfg(feature = "config")]
pub mod error;
/// Entry points of the targets in `fuzz/`.
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzz {
    #[cfg(feature = "ws")]
    pub use crate::websocket::fuzz::websocket_frames;

    /// Parses the output of an exec plugin.
    #[cfg(feature = "client")]
    pub fn exec_output(output: &[u8]) {
        let _ = crate::auth::check_output(output);
    }
}
#[cfg(feature = "client")]
mod metrics;

#[cfg(feature = "client")]
pub mod time;

// Tasks that end with the future that waits for them.
#[cfg(feature = "client")]
mod task;

// Files: whether one has changed, reads that may block, and files that are replaced as a whole.
#[cfg(feature = "client")]
mod blocking_read;
#[cfg(feature = "client")]
mod file_version;
#[doc(hidden)]
pub mod new_file;

#[cfg(feature = "client")]
pub use api::Api;
#[cfg(feature = "client")]
pub use client::Client;
#[cfg(feature = "config")]
pub use config::Config;
#[cfg(feature = "client")]
pub use discovery::Discovery;
#[cfg(feature = "config")]
pub use error::Error;
pub use kube_core as core;
pub use kube_core::{CustomResourceExt, OwnerExt, Resource, ResourceExt};

/// The result of calls of this crate: a value, or an [`Error`].
#[cfg(feature = "config")]
pub type Result<T, E = Error> = std::result::Result<T, E>;
