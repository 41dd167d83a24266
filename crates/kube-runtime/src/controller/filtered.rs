//! Reconciling only after changes that matter: predicates for the watches that a controller makes.

use super::{
    builder::Controller,
    own_filter::{OwnFilter, OwnPredicate},
};
use crate::{Predicate, reflector::ObjectRef, watcher};
use kube_client::Api;
use kube_core::{PartialObjectMeta, Resource};
use serde::de::DeserializeOwned;
use std::{fmt::Debug, hash::Hash};

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
    pub fn filter(mut self, predicate: impl Predicate<K> + Send + 'static) -> Self {
        self.own_filter = OwnFilter::new(OwnPredicate::Object(Box::new(predicate)));
        self
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
    pub fn filter_metadata(
        mut self,
        predicate: impl Predicate<PartialObjectMeta<K>> + Send + 'static,
    ) -> Self {
        self.own_filter = OwnFilter::new(OwnPredicate::Metadata(Box::new(predicate)));
        self
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
        self.owns_all(vec![api], dyntype, wc, Some(Box::new(predicate)))
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
        self.watches_all(vec![api], dyntype, wc, Some(Box::new(predicate)), mapper)
    }
}
