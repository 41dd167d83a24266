//! Kubernetes for Rust: a client, a controller runtime and the macros for custom resources, behind one name.
//!
//! This crate holds no code of its own. It gathers the workspace's crates under the names that programs use,
//! and its features choose which of them are built:
//!
//! | feature | brings | default |
//! |---|---|---|
//! | `config` | [`Config`]: kubeconfig files and in-cluster credentials | by `client` |
//! | `client` | [`Client`], [`Api`], [`discovery`] | yes |
//! | `rustls-tls`, `ring` | TLS by rustls with the ring provider | yes |
//! | `runtime` | the module `runtime`: watchers, caches, controllers | |
//! | `derive` | the derive macros `CustomResource`, `KubeSchema`, `Resource` | |
//! | `jsonpatch` | `api::Patch::Json` | |
//! | `admission` | `core::admission`: admission reviews | |
//! | `cel` | `core::cel`: the rules of a custom resource evaluated without a server | |
//! | `kubelet-debug` | `Client::kubelet_node_exec` and the like: a kubelet without the API server | |
//! | `gzip` | answers come compressed where servers do that | |
//! | `ws` | `Api::exec`, `Api::attach`, `Api::portforward`, ephemeral containers, `Client::connect` | |
//! | `unstable-client` | `client::scope`, `Client::get`, `Client::list`, `Client::fetch` | |
//! | other `unstable-…` | nothing more: what these names gated elsewhere is always on | |
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
