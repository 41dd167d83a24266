//! The methods of kube 5.0 that say where the objects of a [`Controller`] come from. Each describes one source and adds it.
//!
//! First the constructors, for the controller's own objects; then the methods for owned objects, for other objects that the reconciler
//! depends on, and for requests of the program. The suffix `_with` takes the kind as a value, for kinds known only at run time. What
//! 5.0 does not have is in `own`, `related` and `filter`.

use super::{
    builder::Controller,
    reconcile::ReconcileRequest,
    source::{OwnSource, RelatedSource, Trigger},
};
use crate::{
    reflector::{ObjectRef, store::Store},
    watcher,
};
use futures::{Stream, StreamExt};
use kube_client::Api;
use kube_core::Resource;
use serde::de::DeserializeOwned;
use std::{fmt::Debug, hash::Hash, sync::Arc};

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
        self.sources.add_stream(
            "the stream of reconcile_on",
            trigger.map(|obj_ref| Ok(ReconcileRequest::from(obj_ref).into())),
        );
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
        self.sources.add_stream("the stream of reconcile_all_on", trigger.map(|()| Ok(Trigger::All)));
        self
    }
}
