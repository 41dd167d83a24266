//! The methods of [`Controller`] that say where its objects come from. Each of them describes one source and adds it.
//!
//! First the constructors, for the controller's own objects; then those for the objects that these own or depend on, and for requests of
//! the program. The suffix `_with` takes the kind as a value, for kinds known only at run time.

use super::{
    builder::Controller,
    reconcile::ReconcileRequest,
    source::{Apis, Mapped, OwnPredicate, OwnSource, RelatedSource, Trigger, mapped_by, owners_in},
};
#[cfg(feature = "compact-cache")]
use crate::reflector::CompactWriter;
use crate::{
    Predicate,
    reflector::{
        ObjectRef,
        store::{Store, Writer},
    },
    watcher,
};
use futures::{Stream, StreamExt};
use k8s_openapi::NamespaceResourceScope;
use kube_client::{Api, Client};
use kube_core::{DynamicResourceScope, PartialObjectMeta, Resource};
use serde::de::DeserializeOwned;
use std::{borrow::Borrow, fmt::Debug, hash::Hash, sync::Arc};

/// # Sources of the controller's own objects
impl<K> Controller<K>
where
    K: Clone + Resource + DeserializeOwned + Debug + Send + Sync + 'static,
    K::DynamicType: Eq + Hash + Clone,
{
    /// A controller for the objects of `main_api` that `wc` selects.
    #[must_use]
    pub fn new(main_api: Api<K>, wc: watcher::Config) -> Self
    where
        K::DynamicType: Default,
    {
        Self::new_with(main_api, wc, K::DynamicType::default())
    }

    /// Like [`Controller::new`], for kinds known only at run time.
    ///
    /// ```
    /// use kube_client::{Api, Client};
    /// use kube_core::{ApiResource, DynamicObject};
    /// use kube_runtime::{Controller, watcher};
    /// # use k8s_openapi::api::core::v1::ConfigMap;
    ///
    /// fn of_any_kind(client: Client, kind: ApiResource) -> Controller<DynamicObject> {
    ///     Controller::new_with(Api::all_with(client, &kind), watcher::Config::default(), kind)
    /// }
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/first_reconcile.rs"));
    /// # fn main() { first_reconcile(|client| of_any_kind(client, ApiResource::erase::<ConfigMap>(&()))); }
    /// ```
    pub fn new_with(main_api: Api<K>, wc: watcher::Config, dyntype: K::DynamicType) -> Self {
        Self::watching(main_api, wc, dyntype)
    }

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

    /// A controller for the objects of a custom stream, such as a filtered watcher behind a
    /// [`reflector`](fn@crate::reflector) whose store is `reader`.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_client::{Api, Client};
    /// use kube_runtime::{Controller, WatchStreamExt, predicates, reflector, watcher};
    ///
    /// fn on_labels(client: Client) -> Controller<ConfigMap> {
    ///     let (store, writer) = reflector::store();
    ///     let changes = watcher(Api::all(client), watcher::Config::default())
    ///         .default_backoff()
    ///         .reflect(writer)
    ///         .applied_objects()
    ///         .predicate_filter(predicates::labels, Default::default());
    ///     Controller::for_stream(changes, store)
    /// }
    /// ```
    pub fn for_stream(
        trigger: impl Stream<Item = Result<K, watcher::Error>> + Send + 'static,
        reader: Store<K>,
    ) -> Self
    where
        K::DynamicType: Default,
    {
        Self::for_stream_with(trigger, reader, K::DynamicType::default())
    }

    /// Like [`Controller::for_stream`], for kinds known only at run time.
    ///
    /// ```
    /// use kube_client::{Api, Client};
    /// use kube_core::{ApiResource, DynamicObject};
    /// use kube_runtime::{Controller, WatchStreamExt, predicates, reflector, watcher};
    /// # use k8s_openapi::api::core::v1::ConfigMap;
    ///
    /// /// Reconciles when the generation changes, whatever the kind.
    /// fn on_generations(client: Client, kind: ApiResource) -> Controller<DynamicObject> {
    ///     let writer = reflector::store::Writer::<DynamicObject>::new(kind.clone());
    ///     let store = writer.as_reader();
    ///     let objects = Api::all_with(client, &kind);
    ///     let cached = watcher(objects, watcher::Config::default()).reflect(writer);
    ///     let applied = cached.default_backoff().applied_objects();
    ///     let changes = applied.predicate_filter(predicates::generation, Default::default());
    ///     Controller::for_stream_with(changes, store, kind)
    /// }
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/first_reconcile.rs"));
    /// # fn main() { first_reconcile(|client| on_generations(client, ApiResource::erase::<ConfigMap>(&()))); }
    /// ```
    pub fn for_stream_with(
        trigger: impl Stream<Item = Result<K, watcher::Error>> + Send + 'static,
        reader: Store<K>,
        dyntype: K::DynamicType,
    ) -> Self {
        Self::of(OwnSource::stream(trigger, reader, dyntype))
    }

    /// A controller for the objects of a [subscription](crate::reflector::store::Writer::subscribe) to a shared store, which
    /// other controllers may subscribe to as well. The stream that fills the store has to be polled elsewhere.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_client::{Api, Client};
    /// use kube_runtime::{Controller, WatchStreamExt, reflector, watcher};
    /// use futures::Stream;
    ///
    /// /// Two controllers, and the watch that both share.
    /// fn pair(client: Client) -> Option<([Controller<ConfigMap>; 2], impl Stream)> {
    ///     let (store, writer) = reflector::store_shared(256);
    ///     let controllers = [
    ///         Controller::for_shared_stream(store.subscribe()?, store.clone()),
    ///         Controller::for_shared_stream(store.subscribe()?, store.clone()),
    ///     ];
    ///     let watch = watcher(Api::all(client), watcher::Config::default()).default_backoff();
    ///     Some((controllers, watch.reflect_shared(writer)))
    /// }
    /// ```
    pub fn for_shared_stream(trigger: impl Stream<Item = Arc<K>> + Send + 'static, reader: Store<K>) -> Self
    where
        K::DynamicType: Default,
    {
        Self::for_shared_stream_with(trigger, reader, K::DynamicType::default())
    }

    /// Like [`Controller::for_shared_stream`], for kinds known only at run time.
    ///
    /// ```
    /// use futures::Stream;
    /// use kube_client::{Api, Client};
    /// use kube_core::{ApiResource, DynamicObject};
    /// use kube_runtime::{Controller, WatchStreamExt, reflector::store::Writer, watcher};
    /// # use k8s_openapi::api::core::v1::ConfigMap;
    ///
    /// /// A controller, and the watch that it may share with others.
    /// fn sharing(client: Client, kind: ApiResource) -> Option<(Controller<DynamicObject>, impl Stream)> {
    ///     let writer = Writer::<DynamicObject>::new_shared(256, kind.clone());
    ///     let controller = Controller::for_shared_stream_with(writer.subscribe()?, writer.as_reader(), kind.clone());
    ///     let watch = watcher(Api::all_with(client, &kind), watcher::Config::default()).default_backoff();
    ///     Some((controller, watch.reflect_shared(writer)))
    /// }
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/first_reconcile.rs"));
    /// # fn main() { first_reconcile(|client| poll_in_task(sharing(client, ApiResource::erase::<ConfigMap>(&())))); }
    /// ```
    pub fn for_shared_stream_with(
        trigger: impl Stream<Item = Arc<K>> + Send + 'static,
        reader: Store<K>,
        dyntype: K::DynamicType,
    ) -> Self {
        Self::of(OwnSource::shared(trigger, reader, dyntype))
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
}

/// # Sources of owned objects
impl<K> Controller<K>
where
    K: Clone + Resource + DeserializeOwned + Debug + Send + Sync + 'static,
    K::DynamicType: Eq + Hash + Clone,
{
    /// Also reconciles an object when an object that it owns is created, changed or deleted.
    ///
    /// An owned object has an owner reference to its owner, such as one made by
    /// [`controller_owner_ref`](Resource::controller_owner_ref). Only metadata is watched.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::{ConfigMap, Secret};
    /// use kube_client::{Api, Client};
    /// use kube_runtime::{Controller, watcher};
    ///
    /// fn with_secrets(client: Client) -> Controller<ConfigMap> {
    ///     Controller::new(Api::all(client.clone()), watcher::Config::default())
    ///         .owns(Api::<Secret>::all(client), watcher::Config::default().labels("app=web"))
    /// }
    /// ```
    #[must_use]
    pub fn owns<Child: Clone + Resource<DynamicType = ()> + DeserializeOwned + Debug + Send + 'static>(
        self,
        api: Api<Child>,
        wc: watcher::Config,
    ) -> Self {
        self.owns_with(api, (), wc)
    }

    /// Like [`owns`](Self::owns), for kinds known only at run time.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_client::{Api, Client};
    /// use kube_core::{ApiResource, DynamicObject};
    /// use kube_runtime::{Controller, watcher};
    /// # use k8s_openapi::api::core::v1::Secret;
    ///
    /// fn with_children(client: Client, kind: ApiResource) -> Controller<ConfigMap> {
    ///     let children: Api<DynamicObject> = Api::all_with(client.clone(), &kind);
    ///     Controller::new(Api::all(client), watcher::Config::default())
    ///         .owns_with(children, kind, watcher::Config::default())
    /// }
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/first_reconcile.rs"));
    /// # fn main() { first_reconcile(|client| with_children(client, ApiResource::erase::<Secret>(&()))); }
    /// ```
    #[must_use]
    pub fn owns_with<Child: Clone + Resource + DeserializeOwned + Debug + Send + 'static>(
        self,
        api: Api<Child>,
        dyntype: Child::DynamicType,
        wc: watcher::Config,
    ) -> Self
    where
        Child::DynamicType: Debug + Eq + Hash + Clone,
    {
        self.owning(RelatedSource::metadata(api, wc, dyntype))
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

    /// Like [`owns`](Self::owns), and fills the store of `writer` with the owned objects, so that reconciles read them without a request.
    ///
    /// [`Store::owned_by`](crate::reflector::Store::owned_by) returns the children of an object;
    /// [`Apply::apply_cached`](crate::apply::Apply::apply_cached) saves requests for children that are as wanted. An event is in the
    /// store before it triggers a reconcile. The store may lag behind a write of the reconciler:
    /// [`Store::wait_for`](crate::reflector::Store::wait_for) waits for it. The first reconciles wait for the first list as with `owns`: up
    /// to five seconds, so check [`Store::is_ready`](crate::reflector::Store::is_ready) where an empty store would do harm.
    ///
    /// Complete objects are watched, not only metadata: all that `wc` selects, by any owner. So select by a label that the children
    /// have. The kind may also be known only at run time: it is that of the writer. Make `writer` by
    /// [`reflector::store`](crate::reflector::store()); it gets an [`Index::owners`].
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

    /// Also reconciles the owners of the objects of a custom stream. Metadata is enough. The stream has to include deleted
    /// objects, so use [`touched_objects`](crate::WatchStreamExt::touched_objects).
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::{ConfigMap, Secret};
    /// use kube_client::{Api, Client};
    /// use kube_runtime::{Controller, WatchStreamExt, watcher};
    ///
    /// fn with_secrets(client: Client) -> Controller<ConfigMap> {
    ///     let secrets = watcher(Api::<Secret>::all(client.clone()), watcher::Config::default());
    ///     Controller::new(Api::all(client), watcher::Config::default())
    ///         .owns_stream(secrets.default_backoff().touched_objects())
    /// }
    /// ```
    #[must_use]
    pub fn owns_stream<Child: Resource<DynamicType = ()> + Send + 'static>(
        self,
        trigger: impl Stream<Item = Result<Child, watcher::Error>> + Send + 'static,
    ) -> Self {
        self.owns_stream_with(trigger, ())
    }

    /// Like [`owns_stream`](Self::owns_stream), for kinds known only at run time.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_client::{Api, Client};
    /// use kube_core::{ApiResource, DynamicObject};
    /// use kube_runtime::{Controller, WatchStreamExt, watcher};
    /// # use k8s_openapi::api::core::v1::Secret;
    ///
    /// fn with_children(client: Client, kind: ApiResource) -> Controller<ConfigMap> {
    ///     let children: Api<DynamicObject> = Api::all_with(client.clone(), &kind);
    ///     let touched = watcher(children, watcher::Config::default()).default_backoff().touched_objects();
    ///     Controller::new(Api::all(client), watcher::Config::default()).owns_stream_with(touched, kind)
    /// }
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/first_reconcile.rs"));
    /// # fn main() { first_reconcile(|client| with_children(client, ApiResource::erase::<Secret>(&()))); }
    /// ```
    #[must_use]
    pub fn owns_stream_with<Child: Resource + Send + 'static>(
        self,
        trigger: impl Stream<Item = Result<Child, watcher::Error>> + Send + 'static,
        dyntype: Child::DynamicType,
    ) -> Self
    where
        Child::DynamicType: Debug + Eq + Hash + Clone,
    {
        self.owning(RelatedSource::<Child, Child>::stream(trigger, dyntype))
    }

    /// Also reconciles the owners of the objects of a shared stream.
    ///
    /// ```
    /// use futures::Stream;
    /// use k8s_openapi::api::core::v1::{ConfigMap, Secret};
    /// use kube_client::{Api, Client};
    /// use kube_runtime::{Controller, WatchStreamExt, reflector, watcher};
    ///
    /// /// A controller, and the watch of Secrets that it may share with others.
    /// fn with_secrets(client: Client) -> Option<(Controller<ConfigMap>, impl Stream)> {
    ///     let (_, writer) = reflector::store_shared::<Secret>(256);
    ///     let controller = Controller::new(Api::all(client.clone()), watcher::Config::default())
    ///         .owns_shared_stream(writer.subscribe()?);
    ///     let secrets = watcher(Api::all(client), watcher::Config::default()).default_backoff();
    ///     Some((controller, secrets.reflect_shared(writer)))
    /// }
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/first_reconcile.rs"));
    /// # fn main() { first_reconcile(|client| poll_in_task(with_secrets(client))); }
    /// ```
    #[must_use]
    pub fn owns_shared_stream<Child: Resource<DynamicType = ()> + Send + 'static>(
        self,
        trigger: impl Stream<Item = Arc<Child>> + Send + 'static,
    ) -> Self {
        self.owns_shared_stream_with(trigger, ())
    }

    /// Like [`owns_shared_stream`](Self::owns_shared_stream), for kinds known only at run time.
    ///
    /// ```
    /// use futures::Stream;
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_client::{Api, Client};
    /// use kube_core::{ApiResource, DynamicObject};
    /// use kube_runtime::{Controller, WatchStreamExt, reflector::store::Writer, watcher};
    /// # use k8s_openapi::api::core::v1::Secret;
    ///
    /// fn with_children(client: Client, kind: ApiResource) -> Option<(Controller<ConfigMap>, impl Stream)> {
    ///     let writer = Writer::<DynamicObject>::new_shared(256, kind.clone());
    ///     let controller = Controller::new(Api::all(client.clone()), watcher::Config::default())
    ///         .owns_shared_stream_with(writer.subscribe()?, kind.clone());
    ///     let children = watcher(Api::all_with(client, &kind), watcher::Config::default()).default_backoff();
    ///     Some((controller, children.reflect_shared(writer)))
    /// }
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/first_reconcile.rs"));
    /// # fn main() { first_reconcile(|client| poll_in_task(with_children(client, ApiResource::erase::<Secret>(&())))); }
    /// ```
    #[must_use]
    pub fn owns_shared_stream_with<Child: Resource + Send + 'static>(
        self,
        trigger: impl Stream<Item = Arc<Child>> + Send + 'static,
        dyntype: Child::DynamicType,
    ) -> Self
    where
        Child::DynamicType: Debug + Eq + Hash + Clone,
    {
        self.owning(RelatedSource::<Arc<Child>, Child>::stream(trigger.map(Ok), dyntype))
    }
}

/// # Sources of objects that the reconciler depends on
impl<K> Controller<K>
where
    K: Clone + Resource + DeserializeOwned + Debug + Send + Sync + 'static,
    K::DynamicType: Eq + Hash + Clone,
{
    /// Also reconciles the objects that `mapper` returns for an object that is created, changed or deleted.
    ///
    /// For dependencies without an owner reference, such as a Secret that the spec refers to.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::{ConfigMap, Secret};
    /// use kube_client::{Api, Client};
    /// use kube_runtime::{Controller, reflector::ObjectRef, watcher};
    /// use kube_core::ResourceExt;
    ///
    /// /// A change of a Secret triggers the ConfigMap in its annotation.
    /// fn with_secrets(client: Client) -> Controller<ConfigMap> {
    ///     Controller::new(Api::all(client.clone()), watcher::Config::default()).watches(
    ///         Api::<Secret>::all(client),
    ///         watcher::Config::default(),
    ///         |secret| {
    ///             let name = secret.annotations().get("example.com/used-by")?;
    ///             Some(ObjectRef::new(name).within(&secret.namespace()?))
    ///         },
    ///     )
    /// }
    /// ```
    #[must_use]
    pub fn watches<Other, I>(
        self,
        api: Api<Other>,
        wc: watcher::Config,
        mapper: impl Fn(Other) -> I + Sync + Send + 'static,
    ) -> Self
    where
        Other: Clone + Resource + DeserializeOwned + Debug + Send + 'static,
        Other::DynamicType: Default + Debug + Clone + Eq + Hash,
        I: 'static + IntoIterator<Item = ObjectRef<K>>,
        I::IntoIter: Send,
    {
        self.watches_with(api, Other::DynamicType::default(), wc, mapper)
    }

    /// Like [`watches`](Self::watches), for kinds known only at run time.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_client::{Api, Client};
    /// use kube_core::{ApiResource, DynamicObject, ResourceExt};
    /// use kube_runtime::{Controller, reflector::ObjectRef, watcher};
    /// # use k8s_openapi::api::core::v1::Secret;
    ///
    /// /// A change of an object of this kind triggers the ConfigMap of the same name.
    /// fn with_namesakes(client: Client, kind: ApiResource) -> Controller<ConfigMap> {
    ///     let others: Api<DynamicObject> = Api::all_with(client.clone(), &kind);
    ///     Controller::new(Api::all(client), watcher::Config::default())
    ///         .watches_with(others, kind, watcher::Config::default(), |other| {
    ///             Some(ObjectRef::new(&other.name_any()).within(&other.namespace()?))
    ///         })
    /// }
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/first_reconcile.rs"));
    /// # fn main() { first_reconcile(|client| with_namesakes(client, ApiResource::erase::<Secret>(&()))); }
    /// ```
    #[must_use]
    pub fn watches_with<Other, I>(
        self,
        api: Api<Other>,
        dyntype: Other::DynamicType,
        wc: watcher::Config,
        mapper: impl Fn(Other) -> I + Sync + Send + 'static,
    ) -> Self
    where
        Other: Clone + Resource + DeserializeOwned + Debug + Send + 'static,
        I: 'static + IntoIterator<Item = ObjectRef<K>>,
        I::IntoIter: Send,
        Other::DynamicType: Debug + Clone + Eq + Hash,
    {
        self.depending(RelatedSource::objects(api, wc, dyntype), mapper)
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

    /// Also reconciles the objects that `mapper` returns for the objects of a custom stream.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::{ConfigMap, Secret};
    /// use kube_client::{Api, Client};
    /// use kube_core::ResourceExt;
    /// use kube_runtime::{Controller, WatchStreamExt, predicates, reflector::ObjectRef, watcher};
    ///
    /// /// A change of a Secret's labels triggers the ConfigMap of the same name.
    /// fn with_namesakes(client: Client) -> Controller<ConfigMap> {
    ///     let secrets = watcher(Api::<Secret>::all(client.clone()), watcher::Config::default())
    ///         .default_backoff()
    ///         .touched_objects()
    ///         .predicate_filter(predicates::labels, Default::default());
    ///     Controller::new(Api::all(client), watcher::Config::default()).watches_stream(secrets, |secret| {
    ///         Some(ObjectRef::new(&secret.name_any()).within(&secret.namespace()?))
    ///     })
    /// }
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/first_reconcile.rs"));
    /// # fn main() { first_reconcile(|client| with_namesakes(client)); }
    /// ```
    #[must_use]
    pub fn watches_stream<Other, I>(
        self,
        trigger: impl Stream<Item = Result<Other, watcher::Error>> + Send + 'static,
        mapper: impl Fn(Other) -> I + Sync + Send + 'static,
    ) -> Self
    where
        Other: Clone + Resource + DeserializeOwned + Debug + Send + 'static,
        Other::DynamicType: Default + Debug + Clone,
        I: 'static + IntoIterator<Item = ObjectRef<K>>,
        I::IntoIter: Send,
    {
        self.watches_stream_with(trigger, mapper, Other::DynamicType::default())
    }

    /// Like [`watches_stream`](Self::watches_stream), for kinds known only at run time.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_client::{Api, Client};
    /// use kube_core::{ApiResource, DynamicObject, ResourceExt};
    /// use kube_runtime::{Controller, WatchStreamExt, reflector::ObjectRef, watcher};
    /// # use k8s_openapi::api::core::v1::Secret;
    ///
    /// fn with_namesakes(client: Client, kind: ApiResource) -> Controller<ConfigMap> {
    ///     let others: Api<DynamicObject> = Api::all_with(client.clone(), &kind);
    ///     let touched = watcher(others, watcher::Config::default()).default_backoff().touched_objects();
    ///     let namesake = |other: DynamicObject| {
    ///         Some(ObjectRef::new(&other.name_any()).within(&other.namespace()?))
    ///     };
    ///     Controller::new(Api::all(client), watcher::Config::default())
    ///         .watches_stream_with(touched, namesake, kind)
    /// }
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/first_reconcile.rs"));
    /// # fn main() { first_reconcile(|client| with_namesakes(client, ApiResource::erase::<Secret>(&()))); }
    /// ```
    #[must_use]
    pub fn watches_stream_with<Other, I>(
        self,
        trigger: impl Stream<Item = Result<Other, watcher::Error>> + Send + 'static,
        mapper: impl Fn(Other) -> I + Sync + Send + 'static,
        dyntype: Other::DynamicType,
    ) -> Self
    where
        Other: Clone + Resource + DeserializeOwned + Debug + Send + 'static,
        Other::DynamicType: Debug + Clone,
        I: 'static + IntoIterator<Item = ObjectRef<K>>,
        I::IntoIter: Send,
    {
        self.depending(RelatedSource::<Other, Other>::stream(trigger, dyntype), mapper)
    }

    /// Also reconciles the objects that `mapper` returns for the objects of a shared stream.
    ///
    /// ```
    /// use futures::Stream;
    /// use k8s_openapi::api::core::v1::{ConfigMap, Secret};
    /// use kube_client::{Api, Client};
    /// use kube_core::ResourceExt;
    /// use kube_runtime::{Controller, WatchStreamExt, reflector::{self, ObjectRef}, watcher};
    /// # use std::sync::Arc;
    ///
    /// /// A controller, and the watch of Secrets that it may share with others.
    /// fn with_namesakes(client: Client) -> Option<(Controller<ConfigMap>, impl Stream)> {
    ///     let (_, writer) = reflector::store_shared::<Secret>(256);
    ///     let namesake = |secret: Arc<Secret>| {
    ///         Some(ObjectRef::new(&secret.name_any()).within(&secret.namespace()?))
    ///     };
    ///     let controller = Controller::new(Api::all(client.clone()), watcher::Config::default())
    ///         .watches_shared_stream(writer.subscribe()?, namesake);
    ///     let secrets = watcher(Api::all(client), watcher::Config::default()).default_backoff();
    ///     Some((controller, secrets.reflect_shared(writer)))
    /// }
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/first_reconcile.rs"));
    /// # fn main() { first_reconcile(|client| poll_in_task(with_namesakes(client))); }
    /// ```
    #[must_use]
    pub fn watches_shared_stream<Other, I>(
        self,
        trigger: impl Stream<Item = Arc<Other>> + Send + 'static,
        mapper: impl Fn(Arc<Other>) -> I + Sync + Send + 'static,
    ) -> Self
    where
        Other: Clone + Resource + DeserializeOwned + Debug + Send + 'static,
        Other::DynamicType: Default + Debug + Clone,
        I: 'static + IntoIterator<Item = ObjectRef<K>>,
        I::IntoIter: Send,
    {
        self.watches_shared_stream_with(trigger, mapper, Other::DynamicType::default())
    }

    /// Like [`watches_shared_stream`](Self::watches_shared_stream), for kinds known only at run time.
    ///
    /// ```
    /// use futures::Stream;
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_client::{Api, Client};
    /// use kube_core::{ApiResource, DynamicObject, ResourceExt};
    /// use kube_runtime::{Controller, WatchStreamExt, reflector::{ObjectRef, store::Writer}, watcher};
    /// # use {k8s_openapi::api::core::v1::Secret, std::sync::Arc};
    ///
    /// fn with_namesakes(client: Client, kind: ApiResource) -> Option<(Controller<ConfigMap>, impl Stream)> {
    ///     let writer = Writer::<DynamicObject>::new_shared(256, kind.clone());
    ///     let namesake = |other: Arc<DynamicObject>| {
    ///         Some(ObjectRef::new(&other.name_any()).within(&other.namespace()?))
    ///     };
    ///     let controller = Controller::new(Api::all(client.clone()), watcher::Config::default())
    ///         .watches_shared_stream_with(writer.subscribe()?, namesake, kind.clone());
    ///     let others = watcher(Api::all_with(client, &kind), watcher::Config::default()).default_backoff();
    ///     Some((controller, others.reflect_shared(writer)))
    /// }
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/first_reconcile.rs"));
    /// # fn main() { first_reconcile(|client| poll_in_task(with_namesakes(client, ApiResource::erase::<Secret>(&())))); }
    /// ```
    #[must_use]
    pub fn watches_shared_stream_with<Other, I>(
        self,
        trigger: impl Stream<Item = Arc<Other>> + Send + 'static,
        mapper: impl Fn(Arc<Other>) -> I + Sync + Send + 'static,
        dyntype: Other::DynamicType,
    ) -> Self
    where
        Other: Clone + Resource + DeserializeOwned + Debug + Send + 'static,
        Other::DynamicType: Debug + Clone,
        I: 'static + IntoIterator<Item = ObjectRef<K>>,
        I::IntoIter: Send,
    {
        self.depending(RelatedSource::<Arc<Other>, Other>::stream(trigger.map(Ok), dyntype), mapper)
    }
}

/// # Requests of the program
impl<K> Controller<K>
where
    K: Clone + Resource + DeserializeOwned + Debug + Send + Sync + 'static,
    K::DynamicType: Eq + Hash + Clone,
{
    /// Also reconciles the objects from `trigger`.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_client::{Api, Client};
    /// use kube_runtime::{Controller, reflector::ObjectRef, watcher};
    /// use futures::channel::mpsc::{self, UnboundedSender};
    ///
    /// fn on_demand(client: Client) -> (Controller<ConfigMap>, UnboundedSender<ObjectRef<ConfigMap>>) {
    ///     let (sender, requests) = mpsc::unbounded();
    ///     (Controller::new(Api::all(client), watcher::Config::default()).reconcile_on(requests), sender)
    /// }
    /// ```
    #[must_use]
    pub fn reconcile_on(mut self, trigger: impl Stream<Item = ObjectRef<K>> + Send + 'static) -> Self {
        self.sources.add_stream(trigger.map(|obj_ref| Ok(ReconcileRequest::from(obj_ref).into())));
        self
    }

    /// Also reconciles all objects for each item of `trigger`. O(number of objects) each time.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_client::{Api, Client};
    /// use kube_runtime::{Controller, watcher};
    /// use futures::channel::mpsc::{self, UnboundedSender};
    ///
    /// /// Send `()` after the configuration was reloaded.
    /// fn reloading(client: Client) -> (Controller<ConfigMap>, UnboundedSender<()>) {
    ///     let (reloaded, reloads) = mpsc::unbounded();
    ///     (Controller::new(Api::all(client), watcher::Config::default()).reconcile_all_on(reloads), reloaded)
    /// }
    /// ```
    #[must_use]
    pub fn reconcile_all_on(mut self, trigger: impl Stream<Item = ()> + Send + 'static) -> Self {
        self.sources.add_stream(trigger.map(|()| Ok(Trigger::All)));
        self
    }
}

// What the methods above have in common: one source of own objects, and two ways from a related object to the objects to reconcile.
impl<K> Controller<K>
where
    K: Clone + Resource + DeserializeOwned + Debug + Send + Sync + 'static,
    K::DynamicType: Eq + Hash + Clone,
{
    /// Watches that the controller makes of its own objects.
    fn watching(apis: impl Into<Apis<K>>, config: watcher::Config, dyntype: K::DynamicType) -> Self {
        #[cfg(feature = "compact-cache")]
        if config.compact_cache {
            return Self::of(OwnSource::compact(apis.into(), config, dyntype));
        }
        Self::of(OwnSource::watches(apis.into(), config, dyntype))
    }

    /// A change of an object reconciles its owners.
    fn owning<T, O>(self, source: RelatedSource<T, O>) -> Self
    where
        T: Borrow<O> + 'static,
        O: Resource<DynamicType: Clone> + 'static,
    {
        let owner_type = self.own.dyntype.clone();
        self.related(source, owners_in::<K, T, O>(owner_type))
    }

    /// A change of an object reconciles what `mapper` returns for it.
    fn depending<T, O, I>(self, source: RelatedSource<T, O>, mapper: impl Fn(T) -> I + Send + 'static) -> Self
    where
        T: Borrow<O> + 'static,
        O: Resource<DynamicType: Clone> + 'static,
        I: IntoIterator<Item = ObjectRef<K>> + 'static,
    {
        self.related(source, mapped_by(mapper))
    }

    fn related<T, O>(
        mut self,
        source: RelatedSource<T, O>,
        mapper: impl Fn(T) -> Mapped + Send + 'static,
    ) -> Self
    where
        T: Borrow<O> + 'static,
        O: Resource<DynamicType: Clone> + 'static,
    {
        source.add_to(&mut self.sources, mapper);
        self
    }

    fn filtered(self, predicate: OwnPredicate<K>) -> Self {
        Self { own: self.own.filtered(predicate), ..self }
    }
}
