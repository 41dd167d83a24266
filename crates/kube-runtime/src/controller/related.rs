//! [`Related`]: related objects as a value, for what the methods of kube 5.0 cannot say: several namespaces, a predicate, a store.

use super::{
    builder::Controller,
    source::{Apis, Mapped, RelatedSource, Sources, mapped_by, owners_in},
};
use crate::{
    Predicate,
    predicate::BoxPredicate,
    reflector::{ObjectRef, store::Writer},
    served::{ServedKinds, scope_of},
    watcher,
};
use kube_client::Api;
use kube_core::{ApiResource, NamespaceScope, PartialObjectMeta, Resource, discovery::Scope};
use serde::de::DeserializeOwned;
use std::{fmt::Debug, hash::Hash, sync::Arc};

/// Objects of another kind, which a controller's own objects own or depend on: see [`Controller::owns_related`] and
/// [`Controller::watches_related`].
///
/// It begins with an `Api` and a configuration: [`api`](Self::api) watches complete objects, [`metadata`](Related::metadata) less. All
/// other methods may be combined, in any order. A predicate and a mapper see `O`: the object, or its metadata.
///
/// ```
/// use k8s_openapi::api::{apps::v1::Deployment, core::v1::ConfigMap};
/// use kube_client::{Api, Client};
/// use kube_runtime::{Controller, controller::Related, reflector::{self, Store}, watcher};
///
/// fn ready_replicas(deployment: &Deployment) -> Option<u64> {
///     deployment.status.as_ref()?.ready_replicas?.try_into().ok()
/// }
///
/// /// A controller, and the Deployments in two namespaces that its ConfigMaps own: the context of the reconciler.
/// fn with_deployments(client: Client) -> (Controller<ConfigMap>, Store<Deployment>) {
///     let (store, writer) = reflector::store();
///     let deployments = Related::api(Api::all(client.clone()), watcher::Config::default().labels("app=web"))
///         .namespaces(["default", "stage"])
///         .filter(ready_replicas)
///         .store(writer);
///     let controller = Controller::new(Api::all(client), watcher::Config::default());
///     (controller.owns_related(deployments), store)
/// }
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/first_reconcile.rs"));
/// # fn main() { first_reconcile(|client| with_deployments(client).0); }
/// ```
#[must_use = "it does nothing until a controller has it"]
pub struct Related<A: Resource, O: Resource = A> {
    watched: Watched<A, O>,
    add: AddWatches<A, O>,
}

/// What is watched, and which changes matter.
struct Watched<A, O: Resource> {
    apis: Apis<A>,
    config: watcher::Config,
    dyntype: O::DynamicType,
    filter: Option<BoxPredicate<O>>,
}

/// Adds the watches to the sources of a controller, with a mapper to the objects to reconcile.
type AddWatches<A, O> = Box<dyn FnOnce(Watched<A, O>, Mapper<O>, &mut Sources) + Send>;

type Mapper<O> = Box<dyn Fn(&O) -> Mapped + Send>;

impl<A> Related<A>
where
    A: Clone + Resource<DynamicType: Clone> + DeserializeOwned + Debug + Send + 'static,
{
    /// The objects of `api` that `config` selects. They are watched completely.
    pub fn api(api: Api<A>, config: watcher::Config) -> Self
    where
        A::DynamicType: Default,
    {
        Self::api_with(api, A::DynamicType::default(), config)
    }

    /// Like [`api`](Self::api), for kinds known only at run time.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_client::{Api, Client};
    /// use kube_core::{ApiResource, DynamicObject, ResourceExt};
    /// use kube_runtime::{Controller, controller::Related, predicates, reflector::ObjectRef, watcher};
    /// # use k8s_openapi::api::core::v1::Secret;
    ///
    /// fn with_namesakes(client: Client, kind: ApiResource) -> Controller<ConfigMap> {
    ///     let objects: Api<DynamicObject> = Api::all_with(client.clone(), &kind);
    ///     let others = Related::api_with(objects, kind, watcher::Config::default()).filter(predicates::labels);
    ///     Controller::new(Api::all(client), watcher::Config::default()).watches_related(others, |other| {
    ///         Some(ObjectRef::new(&other.name_any()).within(&other.namespace()?))
    ///     })
    /// }
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/first_reconcile.rs"));
    /// # fn main() { first_reconcile(|client| with_namesakes(client, ApiResource::erase::<Secret>(&()))); }
    /// ```
    pub fn api_with(api: Api<A>, dyntype: A::DynamicType, config: watcher::Config) -> Self {
        Self::new(api, dyntype, config, |watched, mapper, sources| {
            let Watched { apis, config, dyntype, filter } = watched;
            let source = RelatedSource::objects(apis, config, dyntype).filtered(filter);
            source.add_to(sources, move |object: A| mapper(&object));
        })
    }

    /// Fills the store of `writer` with the objects, so that reconciles read them without a request.
    ///
    /// [`Store::owned_by`](crate::reflector::Store::owned_by) returns the children of an object;
    /// `kube_operator::apply::Apply::apply_cached` saves requests for children that are as wanted. An event is in the
    /// store before it triggers a reconcile; a [`filter`](Self::filter) drops triggers, not states of the store. The store may lag behind a
    /// write of the reconciler: [`Store::wait_for`](crate::reflector::Store::wait_for) waits for it. The first reconciles wait for the
    /// first list up to five seconds, so check [`Store::is_ready`](crate::reflector::Store::is_ready) where an empty store would do
    /// harm. A second call replaces the writer of the first, whose store then stays empty.
    ///
    /// The store has all that the configuration selects, by any owner. So select by a label that the children have. Make `writer` by
    /// [`reflector::store`](crate::reflector::store()), or [`Writer::new`] for a kind known only at run time; it gets an
    /// [`Index::owners`](crate::reflector::Index::owners).
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::{ConfigMap, Secret};
    /// use kube_client::{Api, Client};
    /// use kube_runtime::{Controller, controller::Related, reflector::{self, Store}, watcher};
    ///
    /// /// A controller, and the Secrets that its ConfigMaps own: the context of the reconciler.
    /// fn with_secrets(client: Client) -> (Controller<ConfigMap>, Store<Secret>) {
    ///     let (store, writer) = reflector::store();
    ///     let secrets = Related::api(Api::all(client.clone()), watcher::Config::default().labels("app=web"));
    ///     let controller = Controller::new(Api::all(client), watcher::Config::default());
    ///     (controller.owns_related(secrets.store(writer)), store)
    /// }
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/first_reconcile.rs"));
    /// # fn main() { first_reconcile(|client| with_secrets(client).0); }
    /// ```
    pub fn store(self, writer: Writer<A>) -> Self
    where
        A: Sync,
        A::DynamicType: Eq + Hash,
    {
        self.watched_by(move |watched, mapper, sources| {
            let Watched { apis, config, dyntype, filter } = watched;
            let source = RelatedSource::stored(apis, config, dyntype, writer).filtered(filter);
            source.add_to(sources, move |object: Arc<A>| mapper(&object));
        })
    }
}

impl<A> Related<A, PartialObjectMeta<A>>
where
    A: Clone + Resource<DynamicType: Clone> + DeserializeOwned + Debug + Send + 'static,
{
    /// The objects of `api` that `config` selects. Only their metadata is watched, as by [`Controller::owns`]: that is enough for owner
    /// references, and the server sends less.
    ///
    /// ```
    /// use k8s_openapi::api::{apps::v1::Deployment, core::v1::ConfigMap};
    /// use kube_client::{Api, Client};
    /// use kube_runtime::{Controller, controller::Related, predicates, watcher};
    ///
    /// /// Not after changes of the status.
    /// fn with_deployments(client: Client) -> Controller<ConfigMap> {
    ///     let deployments: Api<Deployment> = Api::all(client.clone());
    ///     Controller::new(Api::all(client), watcher::Config::default()).owns_related(
    ///         Related::metadata(deployments, watcher::Config::default()).filter(predicates::generation),
    ///     )
    /// }
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/first_reconcile.rs"));
    /// # fn main() { first_reconcile(with_deployments); }
    /// ```
    pub fn metadata(api: Api<A>, config: watcher::Config) -> Self
    where
        A::DynamicType: Default,
    {
        Self::metadata_with(api, A::DynamicType::default(), config)
    }

    /// Like [`metadata`](Self::metadata), for kinds known only at run time.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_client::{Api, Client};
    /// use kube_core::{ApiResource, DynamicObject};
    /// use kube_runtime::{Controller, controller::Related, watcher};
    /// # use k8s_openapi::api::core::v1::Secret;
    ///
    /// fn with_children(client: Client, kind: ApiResource) -> Controller<ConfigMap> {
    ///     let objects: Api<DynamicObject> = Api::all_with(client.clone(), &kind);
    ///     let children = Related::metadata_with(objects, kind, watcher::Config::default());
    ///     Controller::new(Api::all(client), watcher::Config::default())
    ///         .owns_related(children.namespaces(["default", "stage"]))
    /// }
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/first_reconcile.rs"));
    /// # fn main() { first_reconcile(|client| with_children(client, ApiResource::erase::<Secret>(&()))); }
    /// ```
    pub fn metadata_with(api: Api<A>, dyntype: A::DynamicType, config: watcher::Config) -> Self {
        Self::new(api, dyntype, config, |watched, mapper, sources| {
            let Watched { apis, config, dyntype, filter } = watched;
            let source = RelatedSource::metadata(apis, config, dyntype).filtered(filter);
            source.add_to(sources, move |object: PartialObjectMeta<A>| mapper(&object));
        })
    }

    /// Like [`store`](Related::store), with a store that keeps the objects compressed. See
    /// [`compact_store`](crate::reflector::compact_store) for what a read costs. The objects are watched completely, but none is decoded to
    /// find its owners, or for a predicate or a mapper: they see its metadata.
    ///
    /// ```
    /// use k8s_openapi::api::{apps::v1::Deployment, core::v1::ConfigMap};
    /// use kube_client::{Api, Client};
    /// use kube_runtime::{Controller, controller::Related, reflector::{self, Store}, watcher};
    ///
    /// fn with_deployments(client: Client) -> (Controller<ConfigMap>, Store<Deployment>) {
    ///     let (store, writer) = reflector::compact_store();
    ///     let deployments = Related::metadata(Api::all(client.clone()), watcher::Config::default());
    ///     let controller = Controller::new(Api::all(client), watcher::Config::default());
    ///     (controller.owns_related(deployments.compact_store(writer)), store)
    /// }
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/first_reconcile.rs"));
    /// # fn main() { first_reconcile(|client| with_deployments(client).0); }
    /// ```
    #[cfg(feature = "compact-cache")]
    pub fn compact_store(self, writer: crate::reflector::CompactWriter<A>) -> Self
    where
        A: Sync,
        A::DynamicType: Eq + Hash,
    {
        self.watched_by(move |watched, mapper, sources| {
            let Watched { apis, config, dyntype, filter } = watched;
            let source = RelatedSource::compact(apis, config, dyntype, writer).filtered(filter);
            source.add_to(sources, move |object: PartialObjectMeta<A>| mapper(&object));
        })
    }
}

impl<A: Resource, O: Resource> Related<A, O> {
    fn new(
        api: Api<A>,
        dyntype: O::DynamicType,
        config: watcher::Config,
        add: impl FnOnce(Watched<A, O>, Mapper<O>, &mut Sources) + Send + 'static,
    ) -> Self {
        let watched = Watched { apis: api.into(), config, dyntype, filter: None };
        Self { watched, add: Box::new(add) }
    }

    /// The same objects, watched in another way.
    fn watched_by(self, add: impl FnOnce(Watched<A, O>, Mapper<O>, &mut Sources) + Send + 'static) -> Self {
        Self { add: Box::new(add), ..self }
    }

    /// Only those in these namespaces, with one watch per namespace. It replaces the scope of the `Api` and the namespaces of an earlier
    /// call.
    ///
    /// A namespace that cannot be listed, or is not listed within 30 s, does not delay the others: it is treated as empty until it is
    /// listed. Duplicate namespaces are watched once; without any, nothing is watched. With a [`store`](Related::store), a list is in
    /// memory twice until it is complete.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::{ConfigMap, Secret};
    /// use kube_client::{Api, Client};
    /// use kube_core::ResourceExt;
    /// use kube_runtime::{Controller, controller::{Own, Related}, reflector::ObjectRef, watcher};
    ///
    /// /// A change of a Secret triggers the ConfigMap of the same name.
    /// fn with_namesakes(client: Client) -> Controller<ConfigMap> {
    ///     let (namespaces, any) = (["default", "stage"], watcher::Config::default());
    ///     let maps = Own::api(Api::all(client.clone()), any.clone()).namespaces(namespaces);
    ///     let secrets = Related::api(Api::<Secret>::all(client), any).namespaces(namespaces);
    ///     Controller::for_own(maps).watches_related(secrets, |secret| {
    ///         Some(ObjectRef::new(&secret.name_any()).within(&secret.namespace()?))
    ///     })
    /// }
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/first_reconcile.rs"));
    /// # fn main() { first_reconcile(with_namesakes); }
    /// ```
    pub fn namespaces(mut self, namespaces: impl IntoIterator<Item: Into<String>>) -> Self
    where
        A::Scope: NamespaceScope,
    {
        self.watched.apis = self.watched.apis.in_namespaces(namespaces);
        self
    }

    /// Watches them while the cluster serves their kind: for a kind of an API that may be installed later, removed, and installed again,
    /// any number of times. The other sources work meanwhile.
    ///
    /// While the kind is not served, it has no objects: a [`store`](Related::store) is empty. At a start at which the server cannot say
    /// whether it serves the kind, there is no list yet, and the store is not ready; the controller does not wait.
    /// When it comes or goes, all objects of the controller are reconciled, as after any list of related objects: a reconcile that left out
    /// a child because its kind was missing has no other trigger. They are reconciled once each, in the background, so that changes go
    /// first, with the limits and the debounce of the controller. If it is served again in another scope, or not in the version of the
    /// type, an error in the log says so, and this watch alone waits or begins anew. See [`ServedKinds`] for the requests and permissions
    /// that this needs; use one for the whole program, with `kube_operator` that of `Manager::served_kinds`.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::{ConfigMap, Secret};
    /// use kube_client::{Api, Client};
    /// use kube_runtime::{Controller, controller::Related, served::ServedKinds, watcher};
    ///
    /// fn with_secrets(client: Client) -> Controller<ConfigMap> {
    ///     let kinds = ServedKinds::new(client.clone());
    ///     let secrets = Related::metadata(Api::<Secret>::all(client.clone()), watcher::Config::default());
    ///     Controller::new(Api::all(client), watcher::Config::default()).owns_related(secrets.if_served(&kinds))
    /// }
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/first_reconcile.rs"));
    /// # fn main() { first_reconcile(with_secrets); }
    /// ```
    pub fn if_served(mut self, kinds: &ServedKinds) -> Self
    where
        O: 'static,
    {
        let Watched { apis, dyntype, .. } = &self.watched;
        let in_namespace = || apis.is_namespaced().then_some(Scope::Namespaced);
        let scope = scope_of::<O>().or_else(in_namespace);
        let kind = kinds.kind_in(ApiResource::erase::<O>(dyntype), [], scope);
        self.watched.apis = self.watched.apis.while_served(kind);
        self
    }

    /// Reconciles only after changes of the property that `predicate` returns. Creation, deletion, and a change of the owners, or of what
    /// the mapper returns, always trigger. A later call replaces the predicate.
    ///
    /// See [`Controller::filter`] for the property, and for panics and memory. Of [`metadata`](Related::metadata), it is one of the
    /// metadata.
    pub fn filter(mut self, predicate: impl Predicate<O> + Send + 'static) -> Self {
        self.watched.filter = Some(Box::new(predicate));
        self
    }
}

impl<K> Controller<K>
where
    K: Clone + Resource + DeserializeOwned + Debug + Send + Sync + 'static,
    K::DynamicType: Eq + Hash + Clone,
{
    /// Also reconciles an object when one of these that it owns is created, changed or deleted: as [`owns`](Self::owns), and what can be
    /// said of them besides. See [`Related`].
    #[must_use]
    pub fn owns_related<A: Resource, O: Resource + 'static>(self, related: Related<A, O>) -> Self {
        let owner_type = self.own.dyntype.clone();
        self.with_related(related, Box::new(owners_in::<K, O>(owner_type)))
    }

    /// Also reconciles the objects that `mapper` returns for one of these that is created, changed or deleted: as
    /// [`watches`](Self::watches), and what can be said of them besides. See [`Related`].
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::{ConfigMap, Secret};
    /// use kube_client::{Api, Client};
    /// use kube_core::ResourceExt;
    /// use kube_runtime::{Controller, controller::Related, predicates, reflector::ObjectRef, watcher};
    ///
    /// /// A change of a Secret's labels triggers the ConfigMap of the same name.
    /// fn with_namesakes(client: Client) -> Controller<ConfigMap> {
    ///     let secrets: Api<Secret> = Api::all(client.clone());
    ///     let secrets = Related::api(secrets, watcher::Config::default()).filter(predicates::labels);
    ///     Controller::new(Api::all(client), watcher::Config::default()).watches_related(secrets, |secret| {
    ///         Some(ObjectRef::new(&secret.name_any()).within(&secret.namespace()?))
    ///     })
    /// }
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/first_reconcile.rs"));
    /// # fn main() { first_reconcile(with_namesakes); }
    /// ```
    #[must_use]
    pub fn watches_related<A, O, I>(
        self,
        related: Related<A, O>,
        mapper: impl Fn(&O) -> I + Send + Sync + 'static,
    ) -> Self
    where
        A: Resource,
        O: Resource + 'static,
        I: IntoIterator<Item = ObjectRef<K>> + 'static,
    {
        self.with_related(related, Box::new(move |object: &O| mapped_by(|| mapper(object))))
    }

    fn with_related<A: Resource, O: Resource>(mut self, related: Related<A, O>, mapper: Mapper<O>) -> Self {
        (related.add)(related.watched, mapper, &mut self.sources);
        self
    }
}
