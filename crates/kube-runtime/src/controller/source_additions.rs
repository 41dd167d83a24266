//! What kube 5.0 does not have: sources in several namespaces, with a predicate, or with a store of the related objects.
//!
//! As in `source_methods`, each method describes one source and adds it.

use super::{
    builder::Controller,
    source::{Apis, OwnPredicate, RelatedSource},
};
#[cfg(feature = "compact-cache")]
use crate::reflector::CompactWriter;
use crate::{
    Predicate,
    reflector::{ObjectRef, store::Writer},
    watcher,
};
use k8s_openapi::NamespaceResourceScope;
use kube_client::{Api, Client};
use kube_core::{DynamicResourceScope, PartialObjectMeta, Resource};
use serde::de::DeserializeOwned;
use std::{fmt::Debug, hash::Hash};

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
        Self::watching(
            Apis::in_namespaces(namespaces, |namespace| Api::namespaced(client.clone(), namespace)),
            wc,
            K::DynamicType::default(),
        )
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
        let apis = Apis::in_namespaces(namespaces, |namespace| {
            Api::namespaced_with(client.clone(), namespace, &dyntype)
        });
        Self::watching(apis, wc, dyntype)
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
        let apis =
            Apis::in_namespaces(namespaces, |namespace| Api::<Child>::namespaced(client.clone(), namespace));
        self.owning(RelatedSource::metadata(apis, wc, ()))
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
        let api = |namespace: &str| Api::<Child>::namespaced_with(client.clone(), namespace, &dyntype);
        let apis = Apis::in_namespaces(namespaces, api);
        self.owning(RelatedSource::metadata(apis, wc, dyntype))
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
        let apis =
            Apis::in_namespaces(namespaces, |namespace| Api::<Other>::namespaced(client.clone(), namespace));
        self.depending(RelatedSource::objects(apis, wc, Other::DynamicType::default()), mapper)
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
        let api = |namespace: &str| Api::<Other>::namespaced_with(client.clone(), namespace, &dyntype);
        let apis = Apis::in_namespaces(namespaces, api);
        self.depending(RelatedSource::objects(apis, wc, dyntype), mapper)
    }
}

/// # Predicates
///
/// A predicate returns a property of an object, such as its [generation](crate::predicates::generation). Changes that leave the
/// property as it is trigger no reconcile. These always do: the first state of an object, its recreation, the start of its deletion, and
/// states without the property. Stores and waits for writes ([`Store::wait_for`](crate::reflector::Store::wait_for),
/// [`Action::after_write`](super::Action::after_write)) still see every change.
///
/// A predicate that panics is an error in the output that names the object; the change then triggers a reconcile.
///
/// The last property of each existing object is remembered: about 120 bytes per object. Deleted objects are forgotten.
impl<K> Controller<K>
where
    K: Clone + Resource + DeserializeOwned + Debug + Send + Sync + 'static,
    K::DynamicType: Eq + Hash + Clone,
{
    /// Reconciles an object after changes of the property that `predicate` returns, instead of after every change.
    ///
    /// It applies to the controller's own objects, from wherever they come ([`new`](Self::new), [`for_stream`](Self::for_stream), ...);
    /// [related](Self::owns) objects, requeues and [other triggers](Self::reconcile_on) are not affected. A later call replaces the predicate.
    ///
    /// Beware of changes that the reconciler waits for. With [`finalizer`](fn@crate::finalizer), combine `predicates::generation` with
    /// `predicates::finalizers`: adding a finalizer does not change the generation.
    ///
    /// ```
    /// use k8s_openapi::api::apps::v1::Deployment;
    /// use kube_client::{Api, Client};
    /// use kube_runtime::{Controller, Predicate, predicates, watcher};
    ///
    /// /// Not after changes of the status.
    /// fn of_specs(client: Client) -> Controller<Deployment> {
    ///     Controller::new(Api::all(client), watcher::Config::default())
    ///         .filter(predicates::generation.combine(predicates::finalizers))
    /// }
    /// ```
    #[must_use]
    pub fn filter(self, predicate: impl Predicate<K> + Send + 'static) -> Self {
        self.filtered(OwnPredicate::Object(Box::new(predicate)))
    }

    /// Like [`filter`](Self::filter), for a property of the metadata.
    ///
    /// With a compact cache (`watcher::Config::compact_cache`) it is cheaper, because the metadata are read without the rest of the object.
    /// With other caches the metadata are copied for each change. The predicate sees neither `types` nor what the configuration prunes.
    /// In a compact cache, an object whose metadata cannot be decoded always triggers.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_client::{Api, Client};
    /// use kube_runtime::{Controller, predicates, watcher};
    ///
    /// fn of_labels(client: Client) -> Controller<ConfigMap> {
    ///     Controller::new(Api::all(client), watcher::Config::default()).filter_metadata(predicates::labels)
    /// }
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/first_reconcile.rs"));
    /// # fn main() { first_reconcile(of_labels); }
    /// ```
    #[must_use]
    pub fn filter_metadata(self, predicate: impl Predicate<PartialObjectMeta<K>> + Send + 'static) -> Self {
        self.filtered(OwnPredicate::Metadata(Box::new(predicate)))
    }

    /// Like [`owns`](Self::owns), but only after changes of the property that `predicate` returns. Creation, deletion, and a change of the
    /// owners always trigger.
    ///
    /// Only metadata is watched, so the property is one of the metadata. For others, use
    /// [`owns_with_store_filtered`](Self::owns_with_store_filtered).
    ///
    /// ```
    /// use k8s_openapi::api::{apps::v1::Deployment, core::v1::ConfigMap};
    /// use kube_client::{Api, Client};
    /// use kube_runtime::{Controller, predicates, watcher};
    ///
    /// fn with_deployments(client: Client) -> Controller<ConfigMap> {
    ///     let deployments: Api<Deployment> = Api::all(client.clone());
    ///     Controller::new(Api::all(client), watcher::Config::default())
    ///         .owns_filtered(deployments, watcher::Config::default(), predicates::generation)
    /// }
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/first_reconcile.rs"));
    /// # fn main() { first_reconcile(with_deployments); }
    /// ```
    #[must_use]
    pub fn owns_filtered<Child>(
        self,
        api: Api<Child>,
        wc: watcher::Config,
        predicate: impl Predicate<PartialObjectMeta<Child>> + Send + 'static,
    ) -> Self
    where
        Child: Clone + Resource<DynamicType = ()> + DeserializeOwned + Debug + Send + 'static,
    {
        self.owns_filtered_with(api, (), wc, predicate)
    }

    /// Like [`owns_filtered`](Self::owns_filtered), for kinds known only at run time.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_client::{Api, Client};
    /// use kube_core::{ApiResource, DynamicObject};
    /// use kube_runtime::{Controller, predicates, watcher};
    /// # use k8s_openapi::api::core::v1::Secret;
    ///
    /// fn with_children(client: Client, kind: ApiResource) -> Controller<ConfigMap> {
    ///     let children: Api<DynamicObject> = Api::all_with(client.clone(), &kind);
    ///     Controller::new(Api::all(client), watcher::Config::default())
    ///         .owns_filtered_with(children, kind, watcher::Config::default(), predicates::labels)
    /// }
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/first_reconcile.rs"));
    /// # fn main() { first_reconcile(|client| with_children(client, ApiResource::erase::<Secret>(&()))); }
    /// ```
    #[must_use]
    pub fn owns_filtered_with<Child>(
        self,
        api: Api<Child>,
        dyntype: Child::DynamicType,
        wc: watcher::Config,
        predicate: impl Predicate<PartialObjectMeta<Child>> + Send + 'static,
    ) -> Self
    where
        Child: Clone + Resource + DeserializeOwned + Debug + Send + 'static,
        Child::DynamicType: Debug + Eq + Hash + Clone,
    {
        self.owning(RelatedSource::metadata(api, wc, dyntype).filtered(predicate))
    }

    /// Like [`watches`](Self::watches), but only after changes of the property that `predicate` returns. Creation, deletion, and a change
    /// of what `mapper` returns always trigger.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::{ConfigMap, Secret};
    /// use kube_client::{Api, Client};
    /// use kube_core::ResourceExt;
    /// use kube_runtime::{Controller, predicates, reflector::ObjectRef, watcher};
    ///
    /// /// A change of a Secret's labels triggers the ConfigMap of the same name.
    /// fn with_namesakes(client: Client) -> Controller<ConfigMap> {
    ///     let secrets: Api<Secret> = Api::all(client.clone());
    ///     Controller::new(Api::all(client), watcher::Config::default())
    ///         .watches_filtered(secrets, watcher::Config::default(), predicates::labels, |secret| {
    ///             Some(ObjectRef::new(&secret.name_any()).within(&secret.namespace()?))
    ///         })
    /// }
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/first_reconcile.rs"));
    /// # fn main() { first_reconcile(with_namesakes); }
    /// ```
    #[must_use]
    pub fn watches_filtered<Other, I>(
        self,
        api: Api<Other>,
        wc: watcher::Config,
        predicate: impl Predicate<Other> + Send + 'static,
        mapper: impl Fn(Other) -> I + Sync + Send + 'static,
    ) -> Self
    where
        Other: Clone + Resource + DeserializeOwned + Debug + Send + 'static,
        Other::DynamicType: Default + Debug + Clone + Eq + Hash,
        I: 'static + IntoIterator<Item = ObjectRef<K>>,
        I::IntoIter: Send,
    {
        self.watches_filtered_with(api, Other::DynamicType::default(), wc, predicate, mapper)
    }

    /// Like [`watches_filtered`](Self::watches_filtered), for kinds known only at run time.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_client::{Api, Client};
    /// use kube_core::{ApiResource, DynamicObject, ResourceExt};
    /// use kube_runtime::{Controller, predicates, reflector::ObjectRef, watcher};
    /// # use k8s_openapi::api::core::v1::Secret;
    ///
    /// fn with_namesakes(client: Client, kind: ApiResource) -> Controller<ConfigMap> {
    ///     let others: Api<DynamicObject> = Api::all_with(client.clone(), &kind);
    ///     Controller::new(Api::all(client), watcher::Config::default())
    ///         .watches_filtered_with(others, kind, watcher::Config::default(), predicates::labels, |other| {
    ///             Some(ObjectRef::new(&other.name_any()).within(&other.namespace()?))
    ///         })
    /// }
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/first_reconcile.rs"));
    /// # fn main() { first_reconcile(|client| with_namesakes(client, ApiResource::erase::<Secret>(&()))); }
    /// ```
    #[must_use]
    pub fn watches_filtered_with<Other, I>(
        self,
        api: Api<Other>,
        dyntype: Other::DynamicType,
        wc: watcher::Config,
        predicate: impl Predicate<Other> + Send + 'static,
        mapper: impl Fn(Other) -> I + Sync + Send + 'static,
    ) -> Self
    where
        Other: Clone + Resource + DeserializeOwned + Debug + Send + 'static,
        Other::DynamicType: Debug + Clone + Eq + Hash,
        I: 'static + IntoIterator<Item = ObjectRef<K>>,
        I::IntoIter: Send,
    {
        self.depending(RelatedSource::objects(api, wc, dyntype).filtered(predicate), mapper)
    }
}

impl<K> Controller<K>
where
    K: Clone + Resource + DeserializeOwned + Debug + Send + Sync + 'static,
    K::DynamicType: Eq + Hash + Clone,
{
    /// Like [`owns`](Self::owns), and fills the store of `writer` with the owned objects, so that reconciles read them without a request.
    ///
    /// [`Store::owned_by`](crate::reflector::Store::owned_by) returns the children of an object;
    /// `kube_operator::apply::Apply::apply_cached` saves requests for children that are as wanted. An event is in the
    /// store before it triggers a reconcile. The store may lag behind a write of the reconciler:
    /// [`Store::wait_for`](crate::reflector::Store::wait_for) waits for it. The first reconciles wait for the first list as with `owns`: up
    /// to five seconds, so check [`Store::is_ready`](crate::reflector::Store::is_ready) where an empty store would do harm.
    ///
    /// Complete objects are watched, not only metadata: all that `wc` selects, by any owner. So select by a label that the children
    /// have. The kind may also be known only at run time: it is that of the writer. Make `writer` by
    /// [`reflector::store`](crate::reflector::store()); it gets an [`Index::owners`](crate::reflector::Index::owners).
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::{ConfigMap, Secret};
    /// use kube_client::{Api, Client};
    /// use kube_runtime::{Controller, reflector::{self, Store}, watcher};
    ///
    /// /// A controller, and the Secrets that its ConfigMaps own: the context of the reconciler.
    /// fn with_secrets(client: Client) -> (Controller<ConfigMap>, Store<Secret>) {
    ///     let (secrets, writer) = reflector::store::<Secret>();
    ///     let controller = Controller::new(Api::all(client.clone()), watcher::Config::default())
    ///         .owns_with_store(Api::all(client), watcher::Config::default().labels("app=web"), writer);
    ///     (controller, secrets)
    /// }
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/first_reconcile.rs"));
    /// # fn main() { first_reconcile(|client| with_secrets(client).0); }
    /// ```
    #[must_use]
    pub fn owns_with_store<Child>(self, api: Api<Child>, wc: watcher::Config, writer: Writer<Child>) -> Self
    where
        Child: Clone + Resource + DeserializeOwned + Debug + Send + Sync + 'static,
        Child::DynamicType: Debug + Eq + Hash + Clone,
    {
        self.owning(RelatedSource::stored(api, wc, writer))
    }

    /// Like [`owns_with_store`](Self::owns_with_store), but reconciles only after changes of the property that `predicate` returns. The
    /// store has every change. Creation, deletion, and a change of the owners always trigger.
    ///
    /// ```
    /// use k8s_openapi::api::{apps::v1::Deployment, core::v1::ConfigMap};
    /// use kube_client::{Api, Client};
    /// use kube_runtime::{Controller, reflector::{self, Store}, watcher};
    ///
    /// fn ready_replicas(deployment: &Deployment) -> Option<u64> {
    ///     deployment.status.as_ref()?.ready_replicas?.try_into().ok()
    /// }
    ///
    /// fn with_deployments(client: Client) -> (Controller<ConfigMap>, Store<Deployment>) {
    ///     let (deployments, writer) = reflector::store();
    ///     let controller = Controller::new(Api::all(client.clone()), watcher::Config::default())
    ///         .owns_with_store_filtered(Api::all(client), watcher::Config::default(), writer, ready_replicas);
    ///     (controller, deployments)
    /// }
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/first_reconcile.rs"));
    /// # fn main() { first_reconcile(|client| with_deployments(client).0); }
    /// ```
    #[must_use]
    pub fn owns_with_store_filtered<Child>(
        self,
        api: Api<Child>,
        wc: watcher::Config,
        writer: Writer<Child>,
        predicate: impl Predicate<Child> + Send + 'static,
    ) -> Self
    where
        Child: Clone + Resource + DeserializeOwned + Debug + Send + Sync + 'static,
        Child::DynamicType: Debug + Eq + Hash + Clone,
    {
        self.owning(RelatedSource::stored(api, wc, writer).filtered(predicate))
    }

    /// Like [`owns_with_store`](Self::owns_with_store), with a store that keeps the children compressed. See
    /// [`compact_store`](crate::reflector::compact_store) for what a read costs. No child is decoded to find its owners.
    ///
    /// ```
    /// use k8s_openapi::api::{apps::v1::Deployment, core::v1::ConfigMap};
    /// use kube_client::{Api, Client};
    /// use kube_runtime::{Controller, reflector::{self, Store}, watcher};
    ///
    /// fn with_deployments(client: Client) -> (Controller<ConfigMap>, Store<Deployment>) {
    ///     let (deployments, writer) = reflector::compact_store();
    ///     let controller = Controller::new(Api::all(client.clone()), watcher::Config::default())
    ///         .owns_with_compact_store(Api::all(client), watcher::Config::default(), writer);
    ///     (controller, deployments)
    /// }
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/first_reconcile.rs"));
    /// # fn main() { first_reconcile(|client| with_deployments(client).0); }
    /// ```
    #[cfg(feature = "compact-cache")]
    #[must_use]
    pub fn owns_with_compact_store<Child>(
        self,
        api: Api<Child>,
        wc: watcher::Config,
        writer: CompactWriter<Child>,
    ) -> Self
    where
        Child: Clone + Resource + DeserializeOwned + Debug + Send + Sync + 'static,
        Child::DynamicType: Debug + Eq + Hash + Clone,
    {
        self.owning(RelatedSource::compact(api, wc, writer))
    }
}
