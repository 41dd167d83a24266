//! A client for Kubernetes: configuration, credentials, TLS, HTTP, and a typed interface to every resource.
//!
//! - [`Config`] holds the cluster, the user and the connection settings; [`Config::infer`] finds them.
//! - [`Client`] sends requests: cheap to clone, made of tower layers that can be replaced.
//! - [`Api`] is the typed interface to one kind of object.
//! - [`Discovery`] tells what kinds a cluster has.
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
//! `config` has the configuration only, `client` all the rest.
//!
//! | feature | brings |
//! |---|---|
//! | `rustls-tls`, with `ring` or `aws-lc-rs` | TLS by rustls; with both of the latter, aws-lc-rs does the cryptography |
//! | `openssl-tls` | TLS by OpenSSL; where there is rustls too, rustls is used, and OpenSSL through [`ConfigExt`](client::ConfigExt) |
//! | `webpki-roots` | with rustls, Mozilla's authorities, built in, in place of the platform's |
//! | `http-proxy`, `socks5`, `proxy` (both) | [proxies](Config::proxy_url) |
//! | `oidc`, `oauth` | tokens of OpenID Connect that are refreshed, Google's default credentials |
//! | `ws` | exec, attach and port-forward |
//! | `gzip` | compressed answers |
//! | `metrics` | the `rest_client_*` metrics |
//! | `unstable-client` | objects by scope and by reference |
//! | `hyper-util-tracing` | what the HTTP client's pool does, in `tracing` |

#[cfg(all(
    any(feature = "oidc", feature = "oauth"),
    not(any(feature = "rustls-tls", feature = "openssl-tls"))
))]
compile_error!(
    "the features `oidc` and `oauth` need TLS to fetch tokens with: enable `rustls-tls` or `openssl-tls` as well"
);

#[cfg(feature = "client")]
pub mod api;
#[cfg(feature = "client")]
mod auth;
#[cfg(feature = "client")]
mod body;
#[cfg(feature = "config")]
mod chain;
#[cfg(feature = "client")]
pub mod client;
#[cfg(feature = "config")]
pub mod config;
#[cfg(feature = "client")]
mod connect;
#[cfg(feature = "client")]
mod decode;
#[cfg(feature = "client")]
pub mod discovery;
#[cfg(feature = "config")]
pub mod error;
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzz;
#[cfg(feature = "client")]
mod layer;
#[cfg(feature = "client")]
mod measure;
#[cfg(feature = "client")]
mod stack;
#[cfg(feature = "client")]
#[cfg_attr(
    not(any(feature = "rustls-tls", feature = "openssl-tls")),
    allow(dead_code, unused_variables, reason = "without a library for TLS, only its edges are used")
)]
mod tls;
#[cfg(feature = "client")]
mod transport;
#[cfg(feature = "ws")]
mod websocket;

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
pub use kube_core::{CustomResourceExt, Resource, ResourceExt};

/// What calls of this crate give: a value, or an [`Error`].
#[cfg(feature = "config")]
pub type Result<T, E = Error> = std::result::Result<T, E>;
