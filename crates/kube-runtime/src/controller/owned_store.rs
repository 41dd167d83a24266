//! Caches of owned objects, filled by the controller's own watch of them.

use super::{builder::Controller, related_watch::related_triggers, trigger::owner_requests};
use crate::{
    Predicate,
    predicate::BoxPredicate,
    reflector::{Index, store::Writer},
    watcher::{self, cached_collection_events},
};
use futures::StreamExt;
use kube_client::Api;
use kube_core::Resource;
use serde::de::DeserializeOwned;
use std::{fmt::Debug, hash::Hash, sync::Arc};

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
        self.owns_stored(api, wc, writer, None)
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
        self.owns_stored(api, wc, writer, Some(Box::new(predicate)))
    }

    fn owns_stored<Child>(
        mut self,
        api: Api<Child>,
        wc: watcher::Config,
        writer: Writer<Child>,
        predicate: Option<BoxPredicate<Child>>,
    ) -> Self
    where
        Child: Clone + Resource + DeserializeOwned + Debug + Send + Sync + 'static,
        Child::DynamicType: Debug + Eq + Hash + Clone,
    {
        let mut writer = writer.with_index(&Index::owners());
        let (owner_type, dyntype) = (self.dyntype.clone(), self.dyntype.clone());
        let child_type = writer.as_reader().dyntype().clone();
        let related_type = child_type.clone();
        let mapper = move |child: Arc<Child>| Ok(owner_requests(&*child, &owner_type, &child_type));
        self.sources.add_watches(Box::new(move |settings| {
            let kind = Child::kind(&related_type).into_owned();
            let known = writer.known_objects();
            let watch = |api, settings| cached_collection_events(api, wc, settings, known);
            let events = settings.watch(api, &kind, watch);
            let stored = events.map(move |item| {
                let event = item.map(|event| writer.apply_collection_event(event));
                drop(writer.take_index_panics()); // they were logged
                event
            });
            related_triggers(vec![stored.boxed()], mapper, predicate, dyntype, related_type).boxed()
        }));
        self
    }
}
