//! Reconciling an object when a related object changes: one that it owns or depends on.
//!
//! Every method here adds a source of related objects, and a mapper from each of them to the objects to reconcile.

use super::{
    builder::Controller,
    guard::CallbackPanic,
    related_watch::{MappedRequests, related_triggers},
    request::Trigger,
    trigger::{owner_requests, related_request},
};
use crate::{
    predicate::BoxPredicate,
    reflector::ObjectRef,
    unwind::catch_panic,
    watcher::{self, CollectionEvent, WatchSettings, collection_events, metadata_collection_events},
};
use futures::{
    Stream, StreamExt, TryStreamExt,
    stream::{self, BoxStream},
};
use kube_client::Api;
use kube_core::{PartialObjectMeta, Resource};
use serde::de::DeserializeOwned;
use std::{borrow::Borrow, fmt::Debug, hash::Hash, sync::Arc};

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
        self.owns_all(vec![api], dyntype, wc, None)
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
        let owner_type = self.dyntype.clone();
        self.add_related_stream(trigger, move |child| Ok(owner_requests(&child, &owner_type, &dyntype)))
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
        let owner_type = self.dyntype.clone();
        self.add_related_stream(trigger.map(Ok), move |child: Arc<Child>| {
            Ok(owner_requests(&*child, &owner_type, &dyntype))
        })
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
        self.watches_all(vec![api], dyntype, wc, None, mapper)
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
        self.add_related_stream(trigger, catching_mapper::<_, Other, _, _>(mapper, dyntype))
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
        self.add_related_stream(trigger.map(Ok), catching_mapper::<_, Other, _, _>(mapper, dyntype))
    }

    /// Adds the watches of owned objects, in one collection or several.
    pub(super) fn owns_all<Child: Clone + Resource + DeserializeOwned + Debug + Send + 'static>(
        self,
        apis: Vec<Api<Child>>,
        dyntype: Child::DynamicType,
        wc: watcher::Config,
        predicate: Option<BoxPredicate<PartialObjectMeta<Child>>>,
    ) -> Self
    where
        Child::DynamicType: Debug + Eq + Hash + Clone,
    {
        let owner_type = self.dyntype.clone();
        let child_type = dyntype.clone();
        let mapper = move |child| Ok(owner_requests(&child, &owner_type, &child_type));
        let watch = move |api, settings| metadata_collection_events(api, wc.clone(), settings).boxed();
        self.add_related_watches(apis, watch, mapper, predicate, dyntype)
    }

    /// Adds the watches of dependencies, in one collection or several.
    pub(super) fn watches_all<Other, I>(
        self,
        apis: Vec<Api<Other>>,
        dyntype: Other::DynamicType,
        wc: watcher::Config,
        predicate: Option<BoxPredicate<Other>>,
        mapper: impl Fn(Other) -> I + Sync + Send + 'static,
    ) -> Self
    where
        Other: Clone + Resource + DeserializeOwned + Debug + Send + 'static,
        I: 'static + IntoIterator<Item = ObjectRef<K>>,
        I::IntoIter: Send,
        Other::DynamicType: Debug + Clone + Eq + Hash,
    {
        let watch = move |api, settings| collection_events(api, wc.clone(), settings).boxed();
        self.add_related_watches(
            apis,
            watch,
            catching_mapper::<_, Other, _, _>(mapper, dyntype.clone()),
            predicate,
            dyntype,
        )
    }

    fn add_related_watches<A, T>(
        mut self,
        apis: Vec<Api<A>>,
        watch: impl Fn(Api<A>, WatchSettings) -> BoxStream<'static, watcher::ErasedResult<CollectionEvent<T>>>
        + Send
        + 'static,
        mapper: impl Fn(T) -> MappedRequests<K> + Send + 'static,
        predicate: Option<BoxPredicate<T>>,
        related_type: T::DynamicType,
    ) -> Self
    where
        A: Resource + Send + 'static,
        T: Resource<DynamicType: Clone> + Send + 'static,
    {
        if apis.is_empty() {
            return self; // otherwise the first reconcile would wait for a list that never completes
        }
        let dyntype = self.dyntype.clone();
        self.sources.add_watches(Box::new(move |settings| {
            let kind = T::kind(&related_type).into_owned();
            let watches = apis.into_iter().map(|api| settings.watch(api, &kind, &watch)).collect();
            related_triggers::<_, T, _>(watches, mapper, predicate, dyntype, related_type).boxed()
        }));
        self
    }

    /// Adds a custom stream of related objects.
    fn add_related_stream<T: 'static>(
        mut self,
        objects: impl Stream<Item = watcher::Result<T>> + Send + 'static,
        mapper: impl Fn(T) -> MappedRequests<K> + Send + 'static,
    ) -> Self {
        let triggers = objects.map_err(watcher::ErasedError::from).map_ok(move |object| {
            let triggers: Vec<Trigger<K>> = match mapper(object) {
                Ok(requests) => requests.into_iter().map(Trigger::from).collect(),
                Err(panic) => vec![Trigger::CallbackPanicked(panic)],
            };
            stream::iter(triggers.into_iter().map(Ok))
        });
        self.sources.add(triggers.try_flatten());
        self
    }
}

/// The requests for the objects that `mapper` returns, with the related object as their reason.
fn catching_mapper<K, Other, T, I>(
    mapper: impl Fn(T) -> I,
    dyntype: Other::DynamicType,
) -> impl Fn(T) -> MappedRequests<K>
where
    K: Resource,
    Other: Resource<DynamicType: Clone>,
    T: Borrow<Other>,
    I: IntoIterator<Item = ObjectRef<K>>,
{
    move |object| {
        let related = ObjectRef::from_obj_with(object.borrow(), dyntype.clone()).erase();
        match catch_panic(|| mapper(object).into_iter().collect::<Vec<_>>()) {
            Ok(targets) => Ok(targets.into_iter().map(|target| related_request(&related, target)).collect()),
            Err(message) => Err(CallbackPanic { callback: "mapper", object: Box::new(related), message }),
        }
    }
}
