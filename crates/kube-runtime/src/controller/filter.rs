//! The predicate of a controller's own objects.

use super::{builder::Controller, source::OwnPredicate};
use crate::Predicate;
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
    /// [related](Self::owns) objects, requeues and [other triggers](Self::reconcile_on) are not affected. A later call replaces the
    /// predicate.
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
