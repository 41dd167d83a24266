//! [`Own`]: a controller's own objects as a value, for what the constructors of kube 5.0 cannot say.

use super::{builder::Controller, source::Apis};
use crate::watcher;
use kube_client::Api;
use kube_core::{NamespaceScope, Resource};
use serde::de::DeserializeOwned;
use std::{fmt::Debug, hash::Hash};

/// Where a controller's own objects come from: see [`Controller::for_own`].
///
/// ```
/// use futures::StreamExt;
/// use k8s_openapi::api::core::v1::{ConfigMap, Secret};
/// use kube_client::{Api, Client};
/// use kube_runtime::{Controller, controller::{Action, Own, Related}, watcher};
/// # use kube_core::{ObjectMeta, params::PostParams};
/// # use std::{convert::Infallible, sync::Arc};
///
/// async fn run(client: Client) -> usize {
///     let (namespaces, any) = (["shop", "stage"], watcher::Config::default());
///     let maps = Own::api(Api::<ConfigMap>::all(client.clone()), any.clone()).namespaces(namespaces);
///     let secrets = Related::metadata(Api::<Secret>::all(client), any).namespaces(namespaces);
///     Controller::for_own(maps)
///         .owns_related(secrets)
///         .run(
///             async |map: Arc<ConfigMap>, _| Ok::<_, Infallible>(Action::await_change()),
///             |_, _, _| Action::await_change(),
///             Arc::new(()),
///         )
///         .take(2)
///         .count()
///         .await
/// }
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// # let client = Client::new(kube_testserver::ApiServer::new(), "default");
/// # for namespace in ["shop", "stage", "elsewhere"] {
/// #     let named = |name: &str| ObjectMeta { name: Some(name.into()), ..ObjectMeta::default() };
/// #     let object = k8s_openapi::api::core::v1::Namespace { metadata: named(namespace), ..Default::default() };
/// #     Api::all(client.clone()).create(&PostParams::default(), &object).await?;
/// #     let map = ConfigMap { metadata: named("a"), ..ConfigMap::default() };
/// #     Api::namespaced(client.clone(), namespace).create(&PostParams::default(), &map).await?;
/// # }
/// # assert_eq!(run(client).await, 2);
/// # Ok::<(), kube_client::Error>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "it does nothing until a controller has it"]
pub struct Own<K: Resource> {
    apis: Apis<K>,
    config: watcher::Config,
    dyntype: K::DynamicType,
}

impl<K: Resource> Own<K> {
    /// The objects of `api` that `config` selects, as for [`Controller::new`].
    pub fn api(api: Api<K>, config: watcher::Config) -> Self
    where
        K::DynamicType: Default,
    {
        Self::api_with(api, K::DynamicType::default(), config)
    }

    /// Like [`api`](Self::api), for kinds known only at run time.
    ///
    /// ```
    /// use kube_client::{Api, Client};
    /// use kube_core::{ApiResource, DynamicObject};
    /// use kube_runtime::{Controller, controller::Own, watcher};
    /// # use k8s_openapi::api::core::v1::ConfigMap;
    ///
    /// fn of_any_kind(client: Client, kind: ApiResource) -> Controller<DynamicObject> {
    ///     let objects = Api::all_with(client, &kind);
    ///     Controller::for_own(
    ///         Own::api_with(objects, kind, watcher::Config::default()).namespaces(["default", "stage"]),
    ///     )
    /// }
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/first_reconcile.rs"));
    /// # fn main() { first_reconcile(|client| of_any_kind(client, ApiResource::erase::<ConfigMap>(&()))); }
    /// ```
    pub fn api_with(api: Api<K>, dyntype: K::DynamicType, config: watcher::Config) -> Self {
        Self { apis: api.into(), config, dyntype }
    }

    /// Only those in these namespaces, with one queue and one [`store`](Controller::store). It replaces the scope of the `Api` and the
    /// namespaces of an earlier call.
    ///
    /// For programs that are not allowed to list the whole cluster, or do not want to. Owned objects are in the same namespaces: see
    /// [`Related::namespaces`](super::Related::namespaces). If the set of namespaces changes at run time, use
    /// [`Controller::for_stream`] with [`reflect_namespaces`](crate::reflector::reflect_namespaces).
    ///
    /// # Failures
    ///
    /// A namespace that cannot be listed, or is not listed within 30 s, does not delay the others: it is treated as empty
    /// until it is listed. Its errors are items of the output, and only its own watch backs off.
    ///
    /// # Cost
    ///
    /// The requests and connections of one watch per namespace, and memory for a second copy of the keys of all objects.
    /// Duplicate namespaces are watched once.
    pub fn namespaces(self, namespaces: impl IntoIterator<Item: Into<String>>) -> Self
    where
        K::Scope: NamespaceScope,
    {
        Self { apis: self.apis.in_namespaces(namespaces), ..self }
    }
}

impl<K> Controller<K>
where
    K: Clone + Resource + DeserializeOwned + Debug + Send + Sync + 'static,
    K::DynamicType: Eq + Hash + Clone,
{
    /// A controller for the objects that `own` describes: those of [`new`](Self::new), and what can be said of them besides. See [`Own`].
    pub fn for_own(own: Own<K>) -> Self {
        Self::watching(own.apis, own.config, own.dyntype)
    }
}
