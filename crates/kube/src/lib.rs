//! Kubernetes for Rust: a client, a controller runtime and derive macros for custom resources.
//!
//! This crate contains no code of its own. It re-exports the other crates of the workspace; its features select which of them are built:
//!
//! | feature | adds | default |
//! |---|---|---|
//! | `client` | [`Client`], [`Api`], [`discovery`]; enables `config` | yes |
//! | `config` | [`Config`]: kubeconfig files and in-cluster credentials | by `client` |
//! | `rustls-tls` | TLS by rustls | yes |
//! | `ring`, `aws-lc-rs` | the cryptography of rustls; with both, aws-lc-rs is used | `ring` |
//! | `webpki-roots` | with rustls: Mozilla's CA certificates built in, instead of the platform's | |
//! | `openssl-tls` | TLS by OpenSSL; if `rustls-tls` is on too, rustls is used, and OpenSSL through `client::ConfigExt` | |
//! | `http-proxy`, `socks5`, `proxy` (both) | proxies: `Config::proxy_url`, `HTTPS_PROXY` | |
//! | `oidc`, `oauth` | OpenID Connect with refresh tokens; Google's default credentials | |
//! | `runtime` | the module `runtime`: watchers, caches, controllers | |
//! | `derive` | the derive macros `CustomResource`, `KubeSchema`, `Resource` | |
//! | `ws` | `Api::exec`, `Api::attach`, `Api::portforward`, ephemeral containers, `Client::connect` | |
//! | `gzip` | compressed responses, where servers support it | |
//! | `metrics` | the `rest_client_*` metrics, through the `metrics` facade | |
//! | `jsonpatch` | `api::Patch::Json` | |
//! | `admission` | `core::admission`: admission reviews | |
//! | `cel` | `core::cel`: evaluates the rules of a custom resource without a server | |
//! | `kubelet-debug` | `Client::kubelet_node_exec` and the like: a kubelet without the API server; enables `ws` | |
//! | `unstable-client` | `client::scope`, `Client::get`, `Client::list`, `Client::fetch` | |
//! | `hyper-util-tracing` | `tracing` events of the HTTP connection pool | |
//! | `unstable-runtime`, `unstable-runtime-…` | `runtime`; what these names enable in the 5.0 line is always on | |
//!
//! # Example
//!
//! ```
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use kube::{Api, Client, api::PostParams};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! // A real program starts with `Client::try_default().await?`; a test with a server of its own.
//! let client = Client::new(kube_testserver::ApiServer::new(), "default");
//! let maps: Api<ConfigMap> = Api::default_namespaced(client);
//! let map = ConfigMap { metadata: kube::api::ObjectMeta { name: Some("hello".into()), ..Default::default() }, ..Default::default() };
//! maps.create(&PostParams::default(), &map).await?;
//! assert!(maps.get("hello").await?.metadata.uid.is_some());
//! # Ok::<(), kube::Error>(())
//! # }).unwrap();
//! ```

/// Types and pure functions of the protocol: all of `kube_core`, and with `derive` the macro that belongs to them.
pub mod core {
    pub use kube_core::*;
    #[cfg(feature = "derive")]
    pub use kube_derive::KubeSchema;
}
pub use kube_core::{CustomResourceExt, Resource, ResourceExt};

#[cfg(feature = "config")]
pub use kube_client::{Config, Error, Result, config, error};

#[cfg(feature = "client")]
pub use kube_client::{Api, Client, Discovery, api, client, discovery};

#[cfg(feature = "runtime")]
pub use kube_runtime as runtime;

#[cfg(feature = "derive")]
pub use kube_derive::{CustomResource, KubeSchema, Resource};

/// The extension traits, for one `use kube::prelude::*`.
///
/// Traits come in without a name (`as _`, but for `NamespacedRef`), so that they add methods and nothing else to a program's scope.
pub mod prelude {
    #[cfg(feature = "client")]
    pub use kube_client::client::ConfigExt as _;
    #[cfg(feature = "unstable-client")]
    pub use kube_client::client::scope::NamespacedRef;
    pub use kube_core::{
        CustomResourceExt as _, PartialObjectMetaExt as _, Resource as _, ResourceExt as _, SelectorExt as _,
    };
    #[cfg(feature = "runtime")]
    pub use kube_runtime::WatchStreamExt as _;
}
