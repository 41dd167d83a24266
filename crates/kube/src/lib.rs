//! A Kubernetes client, a controller runtime, and derive macros for custom resources.
//!
//! This crate contains no code of its own. It re-exports the other crates of the workspace; its features select which of them are built:
//!
//! | feature | adds | default |
//! |---|---|---|
//! | `client` | [`Client`], [`Api`], [`discovery`]; enables `config` | yes |
//! | `config` | [`Config`]: kubeconfig files and in-cluster credentials | by `client` |
//! | `rustls-tls` | TLS by rustls, with the cryptography of `ring` or `aws-lc-rs` | yes |
//! | `ring` | with rustls: the cryptography of ring | yes |
//! | `aws-lc-rs` | with rustls: the cryptography of aws-lc-rs, also if `ring` is on | |
//! | `webpki-roots` | with rustls: Mozilla's CA certificates built in, instead of the platform's | |
//! | `openssl-tls` | TLS by OpenSSL; if `rustls-tls` is on too, rustls is used, and OpenSSL through `client::ConfigExt` | |
//! | `http-proxy` | HTTP proxies (CONNECT): `Config::proxy_url`, `HTTPS_PROXY` | |
//! | `socks5` | SOCKS5 proxies, set in the same way | |
//! | `proxy` | `http-proxy` and `socks5` | |
//! | `oidc` | credentials by OpenID Connect with refresh tokens | |
//! | `oauth` | Google's default credentials | |
//! | `runtime` | the module `runtime`: watchers, caches, controllers | |
//! | `kube-operator` | in `runtime` also leader election, sharding, children, status; enables `runtime` | |
//! | `compact-cache` | caches that keep objects compressed (`runtime::reflector::compact_store`); compiles zstd's C library | |
//! | `derive` | the macro `apply!`, the derive macros `CustomResource`, `KubeSchema`, `Resource` | |
//! | `tools` | the crate `kube-tools`: what programs do every day, as methods of `Api` in the [`prelude`] and as modules: `apply`, `wait`, `ready`, `table`, `pods`, `crds` | |
//! | `yaml` | the module `yaml`: objects of any kinds from YAML and JSON, applied in the right order; enables `tools` | |
//! | `apply-set` | the module `apply_set`: sets of objects that are applied together and pruned, as kubectl's apply sets; enables `yaml` | |
//! | `ws` | `Api::exec`, `Api::attach`, `Api::portforward`, ephemeral containers, `Client::connect`; with `tools` also `Api::exec_output`, `Api::forward` | |
//! | `cp` | `Api::copy_to`, `Api::copy_from`: files of pods; enables `ws`, `tools` | |
//! | `kubelet-debug` | `Client::kubelet_node_exec` and the like: a kubelet without the API server; enables `ws` | |
//! | `gzip` | compressed responses, where servers support it | |
//! | `diff` | `yaml::ObjectResult::diff`: what a write of YAML changes; enables `yaml` | |
//! | `metrics` | metrics of clients, and with `runtime` of controllers, through the `metrics` facade | |
//! | `jsonpatch` | `api::Patch::Json` | |
//! | `operator` | the module `operator`: manager, children as a set, health, metrics endpoint, webhooks; enables `kube-operator`, `admission`, `metrics`, `yaml` | |
//! | `admission` | `core::admission`: admission reviews | |
//! | `cel` | `core::cel`: evaluates the validation rules of a custom resource without a server | |
//! | `hyper-util-tracing` | `tracing` events of TCP connections | |
//! | `unstable-client` | `client::scope`, `Client::get`, `Client::list`, `Client::fetch` | |
//! | `unstable-runtime` | `runtime`; what it enables in kube 5.0 is always available | |
//! | `unstable-runtime-subscribe` | as `unstable-runtime` | |
//! | `unstable-runtime-stream-control` | as `unstable-runtime` | |
//! | `unstable-runtime-reconcile-on` | as `unstable-runtime` | |
//!
//! # Example
//!
//! ```
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use kube::{Api, Client, api::PostParams};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! // A program calls `Client::try_default().await?`. This example uses an API server in the process.
//! let client = Client::new(kube_testserver::ApiServer::new(), "default");
//! let maps: Api<ConfigMap> = Api::default_namespaced(client);
//! let map = ConfigMap { metadata: kube::api::ObjectMeta { name: Some("hello".into()), ..Default::default() }, ..Default::default() };
//! maps.create(&PostParams::default(), &map).await?;
//! assert!(maps.get("hello").await?.metadata.uid.is_some());
//! # Ok::<(), kube::Error>(())
//! # }).unwrap();
//! ```

/// Types and pure functions of the Kubernetes API: all of `kube_core`, and with the feature `derive` the macro `KubeSchema`.
pub mod core {
    pub use kube_core::*;
    #[cfg(feature = "derive")]
    pub use kube_derive::KubeSchema;
}
pub use kube_core::{CustomResourceExt, OwnerExt, Resource, ResourceExt, Sparse};

#[cfg(feature = "config")]
pub use kube_client::{Config, Error, Result, config, error};

#[cfg(feature = "client")]
pub use kube_client::{Api, Client, Discovery, api, client, discovery, time};

#[cfg(feature = "tools")]
pub use kube_tools::{ApiExt, apply, crds, pods, ready, table, wait};

#[cfg(feature = "yaml")]
pub use kube_tools::yaml;

#[cfg(feature = "apply-set")]
pub use kube_tools::apply_set;

/// Watchers, caches and controllers: all of `kube_runtime`. Beyond kube 5.0, with the feature `kube-operator`, the modules for reconcilers
/// and replicas.
#[cfg(feature = "runtime")]
pub mod runtime {
    #[cfg(feature = "kube-operator")]
    pub use kube_operator::{apply, leader_election, sharding, status};
    pub use kube_runtime::*;
    pub use wait::conditions;

    /// Waiting for an object to have a condition: all of `kube_runtime::wait`.
    pub mod wait {
        pub use kube_runtime::wait::*;

        /// Conditions of well-known kinds to wait for, and the conditions of a status to write.
        pub mod conditions {
            #[cfg(feature = "kube-operator")]
            pub use kube_operator::status::{ConditionStatus, Conditions, InvalidCondition, Summary};
            pub use kube_runtime::wait::conditions::*;
        }
    }
}

#[cfg(feature = "operator")]
pub use kube_operator as operator;

#[cfg(feature = "derive")]
pub use kube_derive::{CustomResource, KubeSchema, Resource, apply};

/// The extension traits, for one `use kube::prelude::*`.
///
/// Traits are imported as `_`, except `NamespacedRef`, so that they add methods but no names to the scope.
pub mod prelude {
    #[cfg(feature = "client")]
    pub use kube_client::client::ConfigExt as _;
    #[cfg(feature = "unstable-client")]
    pub use kube_client::client::scope::NamespacedRef;
    pub use kube_core::{
        CustomResourceExt as _, OwnerExt as _, PartialObjectMetaExt as _, Resource as _, ResourceExt as _,
        SelectorExt as _,
    };
    #[cfg(feature = "runtime")]
    pub use kube_runtime::{Predicate as _, WatchStreamExt as _};
    #[cfg(feature = "tools")]
    pub use kube_tools::ApiExt as _;
}
