//! A client for Kubernetes: configuration, credentials, TLS, HTTP, and a typed interface to every resource.
//!
//! - [`Config`] says which cluster to talk to, as whom and how; [`Config::infer`] finds it.
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
//! `config` has the configuration only, `client` all the rest; `rustls-tls` with `ring` brings TLS, `ws` exec, attach and port-forward,
//! `gzip` compressed answers, `metrics` the `rest_client_*` metrics, `hyper-util-tracing` events of the connection pool, and `unstable-client` objects by scope and by reference.

#[cfg(feature = "client")]
pub mod api;
#[cfg(feature = "client")]
mod auth;
#[cfg(feature = "client")]
mod body;
#[cfg(feature = "client")]
pub mod client;
#[cfg(feature = "config")]
pub mod config;
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
#[cfg(feature = "rustls-tls")]
mod tls;
#[cfg(feature = "client")]
mod transport;
#[cfg(feature = "ws")]
mod upgrade;

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
