//! [`Cluster`]: what controllers know of the cluster that they run on.

use super::name::ClusterName;
use kube_client::Client;
use kube_runtime::reflector::{Contributor, Dictionaries, Lookup, Store};
use parking_lot::Mutex;
use std::{any::Any, collections::BTreeMap, fmt, hash::Hash, ops::Deref, sync::Arc};
use tokio::sync::watch;

/// A cluster of the fleet, for the controllers that run on it. Clones are the same.
#[derive(Clone)]
pub struct Cluster(Arc<Shared>);

struct Shared {
    name: ClusterName,
    client: Client,
    labels: watch::Sender<Labels>,
    /// Of what runs on it now, by name.
    stores: Mutex<BTreeMap<Arc<str>, AnyStore>>,
    /// What its compact caches share with those of other clusters.
    contributor: Contributor,
}

type AnyStore = Arc<dyn Any + Send + Sync>;

type Labels = Arc<BTreeMap<String, String>>;

impl Cluster {
    /// A cluster that shares nothing.
    pub(crate) fn new(name: ClusterName, client: Client, labels: BTreeMap<String, String>) -> Self {
        Self::sharing(name, client, labels, Dictionaries::default().contributor())
    }

    pub(super) fn sharing(
        name: ClusterName,
        client: Client,
        labels: BTreeMap<String, String>,
        contributor: Contributor,
    ) -> Self {
        let labels = watch::Sender::new(Arc::new(labels));
        Self(Arc::new(Shared { name, client, labels, stores: Mutex::default(), contributor }))
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &ClusterName {
        &self.0.name
    }

    /// Its client. The same for as long as the cluster is in the fleet with this default namespace, also when its credentials change.
    #[must_use]
    pub fn client(&self) -> Client {
        self.0.client.clone()
    }

    /// Its labels, as they were announced last.
    #[must_use]
    pub fn labels(&self) -> Arc<BTreeMap<String, String>> {
        Arc::clone(&self.0.labels.borrow())
    }

    /// The objects that a controller of this cluster has in its cache, by its name in
    /// [`controller_on_each`](crate::manager::Manager::controller_on_each), or those of a
    /// [`trigger_hub`](crate::manager::Manager::trigger_hub). `None` while none of this name with objects of this type runs here. Ask each
    /// time: a controller that starts anew has another store.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_operator::clusters::Cluster;
    ///
    /// fn count(cluster: &Cluster) -> usize {
    ///     cluster.store::<ConfigMap>("maps").map_or(0, |store| store.len())
    /// }
    /// ```
    #[must_use]
    pub fn store<K>(&self, name: &str) -> Option<Store<K>>
    where
        K: Lookup<DynamicType: Clone + Eq + Hash + Send + Sync> + Clone + Send + Sync + 'static,
    {
        let store = self.0.stores.lock().get(name).cloned();
        store?.downcast_ref().cloned()
    }

    /// What its compact caches share with those of other clusters: caches of it are to be made in its scope.
    pub(crate) fn contributor(&self) -> &Contributor {
        &self.0.contributor
    }

    /// What runs here from now on has this store.
    pub(crate) fn set_store(&self, name: &Arc<str>, store: impl Any + Send + Sync) {
        let before = self.0.stores.lock().insert(Arc::clone(name), Arc::new(store));
        drop(before); // without the lock: what it holds may ask for a store
    }

    /// Forgets the store that has this name now when the guard is dropped.
    pub(crate) fn forget_store_at_end(&self, name: &Arc<str>) -> StoreOf {
        let store = self.0.stores.lock().get(name).cloned();
        StoreOf { cluster: self.clone(), name: Arc::clone(name), store }
    }

    pub(super) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    pub(super) fn set_labels(&self, labels: BTreeMap<String, String>) {
        self.0.labels.send_if_modified(|present| {
            let is_change = **present != labels;
            if is_change {
                *present = Arc::new(labels);
            }
            is_change
        });
    }

    /// Its labels now and whenever they change.
    pub(crate) fn watch_labels(&self) -> watch::Receiver<Labels> {
        self.0.labels.subscribe()
    }
}

/// Forgets the store of this name when it is dropped, and no later one.
pub(crate) struct StoreOf {
    cluster: Cluster,
    name: Arc<str>,
    store: Option<AnyStore>,
}

impl Drop for StoreOf {
    fn drop(&mut self) {
        let Some(store) = &self.store else { return };
        let mut stores = self.cluster.0.stores.lock();
        if stores.get(&self.name).is_some_and(|present| Arc::ptr_eq(present, store)) {
            stores.remove(&self.name); // `store` is dropped without the lock
        }
    }
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cluster").field("name", &self.0.name).field("labels", &self.labels()).finish()
    }
}

/// The context of a reconciler that runs on each cluster: that of the program, and the cluster. It dereferences to the former.
#[derive(Debug)]
pub struct OnCluster<Ctx> {
    cluster: Cluster,
    context: Arc<Ctx>,
}

impl<Ctx> OnCluster<Ctx> {
    /// For calling a reconciler without a manager, as in its tests.
    pub fn new(cluster: Cluster, context: Arc<Ctx>) -> Self {
        Self { cluster, context }
    }

    /// The cluster that has the object.
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// The context of the program, which all clusters share.
    pub fn context(&self) -> &Arc<Ctx> {
        &self.context
    }
}

impl<Ctx> Deref for OnCluster<Ctx> {
    type Target = Ctx;

    fn deref(&self) -> &Ctx {
        &self.context
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube_runtime::reflector::store;
    use std::{sync::mpsc, thread, time::Duration};

    fn cluster() -> Cluster {
        let name = ClusterName::new("east").unwrap();
        let transport = tower::service_fn(async |_: http::Request<kube_client::client::Body>| {
            Err::<http::Response<kube_client::client::Body>, _>(std::io::Error::other("away"))
        });
        Cluster::new(name, Client::new(transport, "default"), BTreeMap::new())
    }

    #[test]
    fn the_end_of_a_store_takes_no_later_one_of_its_name_away() {
        let (cluster, name) = (cluster(), Arc::from("maps"));
        let is_there = || cluster.store::<ConfigMap>("maps").is_some();
        cluster.set_store(&name, store::<ConfigMap>().0);
        let first = cluster.forget_store_at_end(&name);
        cluster.set_store(&name, store::<ConfigMap>().0);
        let second = cluster.forget_store_at_end(&name);
        drop(first);
        assert!(is_there());
        drop(second);
        assert!(!is_there());
    }

    /// Asks the cluster for a store when it is dropped, as an object of the program may.
    struct Asks(Cluster);

    impl Drop for Asks {
        fn drop(&mut self) {
            drop(self.0.store::<ConfigMap>("maps"));
        }
    }

    #[test]
    fn what_a_store_holds_may_ask_for_stores_when_it_is_dropped() {
        let (sender, done) = mpsc::channel();
        thread::spawn(move || {
            let (cluster, name) = (cluster(), Arc::from("maps"));
            cluster.set_store(&name, Asks(cluster.clone()));
            cluster.set_store(&name, Asks(cluster.clone()));
            drop(cluster.forget_store_at_end(&name));
            sender.send(()).unwrap();
        });
        done.recv_timeout(Duration::from_secs(10)).unwrap();
    }
}
