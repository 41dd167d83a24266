//! Controllers for a set of namespaces instead of the whole cluster.
//!
//! Each namespace has its own watch. The watches of a controller's own objects fill one store; those of related objects are
//! separate sources.

use super::{
    builder::{Controller, namespace_triggers},
    source::MainFactory,
};
use crate::{
    reflector::{ObjectRef, follow_namespaces, store::Writer},
    watcher::{self, cached_collection_events},
};
use futures::{StreamExt, stream};
use k8s_openapi::NamespaceResourceScope;
use kube_client::{Api, Client};
use kube_core::{DynamicResourceScope, Resource};
use serde::de::DeserializeOwned;
use std::{collections::BTreeSet, fmt::Debug, hash::Hash};

impl<K> Controller<K>
where
    K: Clone + Resource + DeserializeOwned + Debug + Send + Sync + 'static,
    K::DynamicType: Eq + Hash + Clone,
{
    /// A controller for the objects in these namespaces that `wc` selects, with one queue and one [`store`](Self::store).
    ///
    /// For programs that are not allowed to list the whole cluster, or do not want to. Owned objects are in the same
    /// namespaces: see [`owns_in_namespaces`](Self::owns_in_namespaces). If the set of namespaces changes at run time, use
    /// [`for_stream`](Self::for_stream) with [`reflect_namespaces`](crate::reflector::reflect_namespaces).
    ///
    /// ```
    /// use futures::StreamExt;
    /// use k8s_openapi::api::core::v1::{ConfigMap, Secret};
    /// use kube_client::Client;
    /// use kube_runtime::{Controller, controller::Action, watcher};
    /// # use kube_client::Api;
    /// # use kube_core::{ObjectMeta, params::PostParams};
    /// # use std::{convert::Infallible, sync::Arc};
    ///
    /// async fn run(client: Client) -> usize {
    ///     let (namespaces, any) = (["shop", "stage"], watcher::Config::default());
    ///     Controller::<ConfigMap>::for_namespaces(client.clone(), namespaces, any.clone())
    ///         .owns_in_namespaces::<Secret>(client, namespaces, any)
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
    pub fn for_namespaces(
        client: Client,
        namespaces: impl IntoIterator<Item: Into<String>>,
        wc: watcher::Config,
    ) -> Self
    where
        K: Resource<Scope = NamespaceResourceScope>,
        K::DynamicType: Default,
    {
        Self::in_namespaces(distinct(namespaces), wc, K::DynamicType::default(), move |namespace| {
            Api::namespaced(client.clone(), namespace)
        })
    }

    /// Like [`for_namespaces`](Self::for_namespaces), for kinds known only at run time.
    ///
    /// ```
    /// use kube_client::Client;
    /// use kube_core::{ApiResource, DynamicObject};
    /// use kube_runtime::{Controller, watcher};
    /// # use k8s_openapi::api::core::v1::ConfigMap;
    ///
    /// fn of_any_kind(client: Client, kind: ApiResource) -> Controller<DynamicObject> {
    ///     let namespaces = ["default", "stage"];
    ///     Controller::for_namespaces_with(client, namespaces, watcher::Config::default(), kind)
    /// }
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/first_reconcile.rs"));
    /// # fn main() { first_reconcile(|client| of_any_kind(client, ApiResource::erase::<ConfigMap>(&()))); }
    /// ```
    pub fn for_namespaces_with(
        client: Client,
        namespaces: impl IntoIterator<Item: Into<String>>,
        wc: watcher::Config,
        dyntype: K::DynamicType,
    ) -> Self
    where
        K: Resource<Scope = DynamicResourceScope>,
    {
        let kind = dyntype.clone();
        Self::in_namespaces(distinct(namespaces), wc, dyntype, move |namespace| {
            Api::namespaced_with(client.clone(), namespace, &kind)
        })
    }

    /// Like [`owns`](Self::owns), for owned objects in these namespaces, with one watch per namespace.
    #[must_use]
    pub fn owns_in_namespaces<Child>(
        self,
        client: Client,
        namespaces: impl IntoIterator<Item: Into<String>>,
        wc: watcher::Config,
    ) -> Self
    where
        Child: Clone
            + Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + DeserializeOwned
            + Debug
            + Send
            + 'static,
    {
        let api = |namespace: String| Api::<Child>::namespaced(client.clone(), &namespace);
        self.owns_all(distinct(namespaces).into_iter().map(api).collect(), (), wc, None)
    }

    /// Like [`owns_in_namespaces`](Self::owns_in_namespaces), for kinds known only at run time.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_client::Client;
    /// use kube_core::{ApiResource, DynamicObject};
    /// use kube_runtime::{Controller, watcher};
    /// # use k8s_openapi::api::core::v1::Secret;
    ///
    /// fn with_children(client: Client, kind: ApiResource) -> Controller<ConfigMap> {
    ///     let (namespaces, any) = (["default", "stage"], watcher::Config::default());
    ///     Controller::for_namespaces(client.clone(), namespaces, any.clone())
    ///         .owns_in_namespaces_with::<DynamicObject>(client, namespaces, kind, any)
    /// }
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/first_reconcile.rs"));
    /// # fn main() { first_reconcile(|client| with_children(client, ApiResource::erase::<Secret>(&()))); }
    /// ```
    #[must_use]
    pub fn owns_in_namespaces_with<Child>(
        self,
        client: Client,
        namespaces: impl IntoIterator<Item: Into<String>>,
        dyntype: Child::DynamicType,
        wc: watcher::Config,
    ) -> Self
    where
        Child: Clone + Resource<Scope = DynamicResourceScope> + DeserializeOwned + Debug + Send + 'static,
        Child::DynamicType: Debug + Eq + Hash + Clone,
    {
        let api = |namespace: String| Api::<Child>::namespaced_with(client.clone(), &namespace, &dyntype);
        let apis = distinct(namespaces).into_iter().map(api).collect();
        self.owns_all(apis, dyntype, wc, None)
    }

    /// Like [`watches`](Self::watches), for objects in these namespaces, with one watch per namespace.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::{ConfigMap, Secret};
    /// use kube_client::Client;
    /// use kube_core::ResourceExt;
    /// use kube_runtime::{Controller, reflector::ObjectRef, watcher};
    ///
    /// /// A change of a Secret triggers the ConfigMap of the same name.
    /// fn with_namesakes(client: Client) -> Controller<ConfigMap> {
    ///     let (namespaces, any) = (["default", "stage"], watcher::Config::default());
    ///     Controller::for_namespaces(client.clone(), namespaces, any.clone())
    ///         .watches_in_namespaces(client, namespaces, any, |secret: Secret| {
    ///             Some(ObjectRef::new(&secret.name_any()).within(&secret.namespace()?))
    ///         })
    /// }
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/first_reconcile.rs"));
    /// # fn main() { first_reconcile(|client| with_namesakes(client)); }
    /// ```
    #[must_use]
    pub fn watches_in_namespaces<Other, I>(
        self,
        client: Client,
        namespaces: impl IntoIterator<Item: Into<String>>,
        wc: watcher::Config,
        mapper: impl Fn(Other) -> I + Sync + Send + 'static,
    ) -> Self
    where
        Other: Clone + Resource<Scope = NamespaceResourceScope> + DeserializeOwned + Debug + Send + 'static,
        Other::DynamicType: Default + Debug + Clone + Eq + Hash,
        I: 'static + IntoIterator<Item = ObjectRef<K>>,
        I::IntoIter: Send,
    {
        let api = |namespace: String| Api::<Other>::namespaced(client.clone(), &namespace);
        let apis = distinct(namespaces).into_iter().map(api).collect();
        self.watches_all(apis, Other::DynamicType::default(), wc, None, mapper)
    }

    /// Like [`watches_in_namespaces`](Self::watches_in_namespaces), for kinds known only at run time.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_client::Client;
    /// use kube_core::{ApiResource, DynamicObject, ResourceExt};
    /// use kube_runtime::{Controller, reflector::ObjectRef, watcher};
    /// # use k8s_openapi::api::core::v1::Secret;
    ///
    /// fn with_namesakes(client: Client, kind: ApiResource) -> Controller<ConfigMap> {
    ///     let (namespaces, any) = (["default", "stage"], watcher::Config::default());
    ///     let namesake = |other: DynamicObject| {
    ///         Some(ObjectRef::new(&other.name_any()).within(&other.namespace()?))
    ///     };
    ///     Controller::for_namespaces(client.clone(), namespaces, any.clone())
    ///         .watches_in_namespaces_with(client, namespaces, kind, any, namesake)
    /// }
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/first_reconcile.rs"));
    /// # fn main() { first_reconcile(|client| with_namesakes(client, ApiResource::erase::<Secret>(&()))); }
    /// ```
    #[must_use]
    pub fn watches_in_namespaces_with<Other, I>(
        self,
        client: Client,
        namespaces: impl IntoIterator<Item: Into<String>>,
        dyntype: Other::DynamicType,
        wc: watcher::Config,
        mapper: impl Fn(Other) -> I + Sync + Send + 'static,
    ) -> Self
    where
        Other: Clone + Resource<Scope = DynamicResourceScope> + DeserializeOwned + Debug + Send + 'static,
        Other::DynamicType: Debug + Clone + Eq + Hash,
        I: 'static + IntoIterator<Item = ObjectRef<K>>,
        I::IntoIter: Send,
    {
        let api = |namespace: String| Api::<Other>::namespaced_with(client.clone(), &namespace, &dyntype);
        let apis = distinct(namespaces).into_iter().map(api).collect();
        self.watches_all(apis, dyntype, wc, None, mapper)
    }

    fn in_namespaces(
        namespaces: BTreeSet<String>,
        wc: watcher::Config,
        dyntype: K::DynamicType,
        api: impl Fn(&str) -> Api<K> + Send + 'static,
    ) -> Self {
        #[cfg(feature = "compact-cache")]
        if wc.compact_cache {
            return Self::compact_in_namespaces(namespaces, wc, dyntype, api);
        }
        let writer = Writer::new(dyntype.clone());
        let reader = writer.as_reader();
        let (store, kind) = (reader.clone(), K::kind(&dyntype).into_owned());
        // Each watch has its own backoff, so that a failing one does not delay the others.
        let main: MainFactory<K> = Box::new(move |settings, filter| {
            let (settings, known) = (settings.clone(), writer.known_objects());
            let watch = move |namespace: &str| {
                settings.watch(api(namespace), &kind, |api, settings| {
                    cached_collection_events(api, wc.clone(), settings, known.clone())
                })
            };
            let events = follow_namespaces(writer, stream::iter([namespaces]), watch);
            namespace_triggers(events, store, filter).boxed()
        });
        Self::with(main, reader, dyntype)
    }
}

fn distinct(namespaces: impl IntoIterator<Item: Into<String>>) -> BTreeSet<String> {
    namespaces.into_iter().map(Into::into).collect()
}
