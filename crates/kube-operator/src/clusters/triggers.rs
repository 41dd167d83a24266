//! [`ClusterTriggers`]: keys of objects to be reconciled on one cluster, sent from another.

use super::{cluster::Cluster, metrics::queued_triggers, name::ClusterName};
use futures::{Stream, stream};
use kube_core::Resource;
use kube_runtime::reflector::ObjectRef;
use metrics::Gauge;
use parking_lot::Mutex;
use std::{collections::BTreeMap, fmt, sync::Arc};
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};

/// Has objects of one kind reconciled on the cluster that has them, from anywhere in the program. Clones are the same.
///
/// The controllers of that kind listen: those of members by [`on`](Self::on), those of the hub by [`on_hub`](Self::on_hub). What sends
/// are mappers: [`Manager::trigger_members`](crate::manager::Manager::trigger_members) of the objects of the hub,
/// [`Manager::trigger_hub`](crate::manager::Manager::trigger_hub) of those of members. A reconciler may [`send`](Self::send) too.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube_client::Api;
/// use kube_operator::clusters::{Cluster, ClusterTriggers};
/// use kube_runtime::{Controller, watcher::Config};
///
/// /// For `controller_on_each`.
/// fn maps(triggers: &ClusterTriggers<ConfigMap>, cluster: &Cluster) -> Controller<ConfigMap> {
///     Controller::new(Api::all(cluster.client()), Config::default()).reconcile_on(triggers.on(cluster))
/// }
/// ```
pub struct ClusterTriggers<K: Resource + 'static>(Arc<Mutex<Listeners<K>>>);

/// Who listens, by cluster; `None` is the hub.
struct Listeners<K: Resource + 'static> {
    senders: BTreeMap<Option<ClusterName>, BTreeMap<u64, Sender<K>>>,
    /// The number of the next one.
    next: u64,
}

/// What sends to a controller that listens, and what counts the keys that it has not taken.
type Sender<K> = (UnboundedSender<ObjectRef<K>>, Gauge);

impl<K: Resource<DynamicType: Clone + Send + Sync> + 'static> ClusterTriggers<K> {
    /// Nobody listens yet.
    #[must_use]
    pub fn new() -> Self {
        Self(Arc::new(Mutex::new(Listeners { senders: BTreeMap::new(), next: 0 })))
    }

    /// The keys that are sent to this cluster from now on, for
    /// [`Controller::reconcile_on`](kube_runtime::Controller::reconcile_on).
    pub fn on(&self, cluster: &Cluster) -> impl Stream<Item = ObjectRef<K>> + Send + use<K> {
        self.listen(Some(cluster.name().clone()))
    }

    /// The keys that are sent to the hub from now on.
    pub fn on_hub(&self) -> impl Stream<Item = ObjectRef<K>> + Send + use<K> {
        self.listen(None)
    }

    /// Has an object of this cluster reconciled. Nothing waits for it: where no controller listens, the key is dropped, because a
    /// controller that starts reconciles all of its objects.
    ///
    /// It reaches the controllers of this process. With sharding, that reconciles nothing where another replica has the cluster, and is not
    /// sent on to that: a cluster that moves here has all of its objects reconciled then. Mappers run in each replica, and so reach the
    /// one that has the cluster; a reconciler runs in one, so what it sends reaches clusters of its own replica only.
    pub fn send(&self, cluster: &ClusterName, key: ObjectRef<K>) {
        self.send_to(&Some(cluster.clone()), key);
    }

    /// Has an object of the hub reconciled, in the same way.
    pub fn send_to_hub(&self, key: ObjectRef<K>) {
        self.send_to(&None, key);
    }

    fn send_to(&self, place: &Option<ClusterName>, key: ObjectRef<K>) {
        let listeners = self.0.lock();
        for (sender, queued) in listeners.senders.get(place).into_iter().flat_map(BTreeMap::values) {
            if sender.send(key.clone()).is_ok() {
                queued.increment(1.0);
            }
        }
    }

    fn listen(&self, place: Option<ClusterName>) -> impl Stream<Item = ObjectRef<K>> + Send + use<K> {
        let (sender, keys) = mpsc::unbounded_channel();
        let queued = queued_triggers(place.is_none());
        let mut listeners = self.0.lock();
        let number = listeners.next;
        listeners.next += 1;
        listeners.senders.entry(place.clone()).or_default().insert(number, (sender, queued.clone()));
        drop(listeners);
        let listening = Listening { triggers: Arc::clone(&self.0), place, number, keys, queued };
        stream::unfold(listening, |mut listening| async move {
            let key = listening.keys.recv().await?;
            listening.queued.decrement(1.0);
            Some((key, listening))
        })
    }
}

/// A controller that listens, until it is dropped.
struct Listening<K: Resource + 'static> {
    triggers: Arc<Mutex<Listeners<K>>>,
    place: Option<ClusterName>,
    number: u64,
    keys: UnboundedReceiver<ObjectRef<K>>,
    queued: Gauge,
}

impl<K: Resource + 'static> Drop for Listening<K> {
    fn drop(&mut self) {
        let mut listeners = self.triggers.lock();
        if let Some(senders) = listeners.senders.get_mut(&self.place) {
            senders.remove(&self.number);
            if senders.is_empty() {
                listeners.senders.remove(&self.place); // nothing is kept of a cluster that has left
            }
        }
        self.queued.decrement(self.keys.len() as f64); // of which there are no more now
    }
}

impl<K: Resource<DynamicType: Clone + Send + Sync> + 'static> Default for ClusterTriggers<K> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: Resource + 'static> Clone for ClusterTriggers<K> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<K: Resource + 'static> fmt::Debug for ClusterTriggers<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClusterTriggers").field("clusters", &self.0.lock().senders.len()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::{FutureExt, StreamExt};
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube_client::Client;
    use metrics_util::debugging::{DebugValue, DebuggingRecorder};

    fn cluster(name: &str) -> Cluster {
        let client = Client::new(kube_testserver::ApiServer::new(), "default");
        Cluster::new(ClusterName::new(name).unwrap(), client, BTreeMap::new())
    }

    fn ready(keys: &mut (impl Stream<Item = ObjectRef<ConfigMap>> + Unpin)) -> Vec<String> {
        std::iter::from_fn(|| keys.next().now_or_never().flatten()).map(|key| key.name).collect()
    }

    #[tokio::test]
    async fn keys_reach_all_that_listen_on_the_cluster_and_no_others() {
        let triggers = ClusterTriggers::<ConfigMap>::new();
        let (east, west) = (cluster("east"), cluster("west"));
        triggers.send(east.name(), ObjectRef::new("early")); // nobody listens
        let (mut one, mut other) = (Box::pin(triggers.on(&east)), Box::pin(triggers.on(&east)));
        let (mut of_west, mut of_hub) = (Box::pin(triggers.on(&west)), Box::pin(triggers.on_hub()));
        triggers.send(east.name(), ObjectRef::new("a"));
        triggers.send(west.name(), ObjectRef::new("b"));
        triggers.send_to_hub(ObjectRef::new("c"));
        assert_eq!((ready(&mut one), ready(&mut other)), (vec!["a".to_owned()], vec!["a".to_owned()]));
        assert_eq!((ready(&mut of_west), ready(&mut of_hub)), (vec!["b".to_owned()], vec!["c".to_owned()]));
        drop(one);
        triggers.send(east.name(), ObjectRef::new("d"));
        assert_eq!(ready(&mut other), ["d"]);
        drop((other, of_west, of_hub));
        assert!(triggers.0.lock().senders.is_empty(), "nothing is kept");
    }

    #[tokio::test]
    async fn keys_that_controllers_have_not_taken_are_counted_until_those_end() {
        let recorder = DebuggingRecorder::new();
        let snapshotter = recorder.snapshotter();
        let _guard = metrics::set_default_local_recorder(&recorder);
        let mut totals = BTreeMap::<String, f64>::new();
        let mut queued = || {
            for (key, _unit, _description, value) in snapshotter.snapshot().into_vec() {
                let DebugValue::Gauge(change) = value else { panic!("a gauge") };
                let to = key.key().labels().next().unwrap().value().to_owned();
                *totals.entry(to).or_default() += change.into_inner(); // since the last snapshot
            }
            ["hub", "members"].map(|to| totals[to])
        };
        let triggers = ClusterTriggers::<ConfigMap>::new();
        let (east, west) = (cluster("east"), cluster("west"));
        let (mut of_east, of_west) = (Box::pin(triggers.on(&east)), Box::pin(triggers.on(&west)));
        let mut of_hub = Box::pin(triggers.on_hub());
        for (place, name) in [(&east, "a"), (&east, "b"), (&west, "c")] {
            triggers.send(place.name(), ObjectRef::new(name));
        }
        triggers.send_to_hub(ObjectRef::new("d"));
        assert_eq!(queued(), [1.0, 3.0]);
        assert_eq!((ready(&mut of_east).len(), ready(&mut of_hub).len()), (2, 1));
        assert_eq!(queued(), [0.0, 1.0]);
        drop(of_west);
        assert_eq!(queued(), [0.0, 0.0]);
    }
}
