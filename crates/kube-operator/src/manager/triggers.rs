//! The methods of a [`Manager`] that have objects of one cluster reconciled for those of another.

use super::{
    build::Manager,
    cache::Cached,
    components::Restart,
    error::{BoxError, Ended},
    triggering::{TriggersHub, WatchOnCluster, follow},
};
use crate::clusters::{Cluster, ClusterName, ClusterTriggers};
use kube_client::Api;
use kube_core::Resource;
use kube_runtime::{reflector::ObjectRef, watcher};
use std::{hash::Hash, sync::Arc};

impl Manager {
    /// When an object of the hub comes, changes or goes, the objects of members are reconciled that `mapper` returns, each with its
    /// cluster: those for its present state and those for the one before. `name` is that of the component that does it.
    ///
    /// The objects are in a [cache](Self::cache), which other parts of the program may share. A cluster that starts reconciles all of its
    /// objects anyway.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::{ConfigMap, Secret};
    /// use kube_client::{Api, Client};
    /// use kube_core::ResourceExt;
    /// use kube_operator::{clusters::{ClusterName, ClusterTriggers}, manager::Manager};
    /// use kube_runtime::{reflector::ObjectRef, watcher::Config};
    ///
    /// /// A Secret of the hub names the cluster whose ConfigMap of the same name depends on it.
    /// fn manager(hub: Client, triggers: &ClusterTriggers<ConfigMap>) -> Manager {
    ///     let secrets = Api::<Secret>::namespaced(hub.clone(), "settings");
    ///     Manager::new(hub).trigger_members("settings", secrets, Config::default(), triggers, |secret| {
    ///         let cluster: ClusterName = secret.labels().get("example.com/cluster")?.parse().ok()?;
    ///         Some((cluster, ObjectRef::new(&secret.name_any()).within("default")))
    ///     })
    /// }
    /// ```
    pub fn trigger_members<O: Cached, K, I>(
        mut self,
        name: &str,
        api: Api<O>,
        config: watcher::Config,
        triggers: &ClusterTriggers<K>,
        mapper: impl Fn(&O) -> I + Send + Sync + 'static,
    ) -> Self
    where
        K: Resource<DynamicType: Clone + Eq + Hash + Send + Sync> + 'static,
        I: IntoIterator<Item = (ClusterName, ObjectRef<K>)> + 'static,
    {
        let store = self.cache(api, config);
        let (mapper, triggers, named) = (Arc::new(mapper), triggers.clone(), Arc::<str>::from(name));
        self.component(name, Restart::Never, move |stop| {
            let (changes, name) = (store.subscribe_events(), Arc::clone(&named));
            let (mapper, triggers) = (Arc::clone(&mapper), triggers.clone());
            async move {
                let Some(changes) = changes else { return Err(BoxError::from(Ended)) };
                let send = |(cluster, key): (ClusterName, ObjectRef<K>)| triggers.send(&cluster, key);
                tokio::select! {
                    () = follow(&name, changes, |object: &O| mapper(object), send) => Err(Ended.into()),
                    () = stop.cancelled() => Ok(()),
                }
            }
        })
    }

    /// When an object of a member comes, changes or goes, the objects of the hub are reconciled that `mapper` returns: those for its
    /// present state and those for the one before. `related` says what is watched on each cluster, in the way of
    /// [`controller_on_each`](Self::controller_on_each), and `name`, which no controller of members has, is that of these watches in logs
    /// and metrics.
    ///
    /// This costs a store of these objects for each cluster: select them by labels, and [leave out](watcher::Config::prune) what the mapper
    /// does not read. Objects of a cluster that leaves are not reported: [`Fleet::changes`](crate::clusters::Fleet::changes) tells of that.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::{ConfigMap, Secret};
    /// use kube_client::{Api, Client};
    /// use kube_core::ResourceExt;
    /// use kube_operator::{clusters::ClusterTriggers, manager::Manager};
    /// use kube_runtime::{Controller, controller::Action, reflector::ObjectRef, watcher::Config};
    /// use std::{convert::Infallible, sync::Arc};
    ///
    /// async fn reconcile(_secret: Arc<Secret>, _context: Arc<()>) -> Result<Action, Infallible> {
    ///     Ok(Action::await_change())
    /// }
    ///
    /// /// The Secrets of the hub are reconciled when ConfigMaps of their names change on any cluster.
    /// fn manager(hub: Client) -> Manager {
    ///     let triggers = ClusterTriggers::<Secret>::new();
    ///     let secrets = Api::<Secret>::namespaced(hub.clone(), "settings");
    ///     let secrets = Controller::new(secrets, Config::default()).reconcile_on(triggers.on_hub());
    ///     Manager::new(hub).controller("secrets", secrets, reconcile, Arc::new(())).trigger_hub(
    ///         "copies",
    ///         |cluster| (Api::<ConfigMap>::default_namespaced(cluster.client()), Config::default()),
    ///         &triggers,
    ///         |_cluster, map: &ConfigMap| Some(ObjectRef::new(&map.name_any()).within("settings")),
    ///     )
    /// }
    /// ```
    pub fn trigger_hub<O: Cached, K, I>(
        mut self,
        name: &str,
        related: impl Fn(&Cluster) -> (Api<O>, watcher::Config) + Send + Sync + 'static,
        triggers: &ClusterTriggers<K>,
        mapper: impl Fn(&Cluster, &O) -> I + Send + Sync + 'static,
    ) -> Self
    where
        K: Resource<DynamicType: Clone + Eq + Hash + Send + Sync> + 'static,
        I: IntoIterator<Item = ObjectRef<K>> + 'static,
    {
        let (mapper, triggers, name) = (Arc::new(mapper), triggers.clone(), Arc::<str>::from(name));
        let named = Arc::clone(&name);
        let make = Arc::new(move |cluster: &Cluster| {
            let (mapper, triggers, of) = (Arc::clone(&mapper), triggers.clone(), cluster.clone());
            let mapper = move |object: &O| mapper(&of, object);
            let send = move |key: ObjectRef<K>| triggers.send_to_hub(key);
            WatchOnCluster::new(Arc::clone(&named), cluster, related(cluster), mapper, send)
        });
        self.members.triggers.push(TriggersHub { name, make });
        self
    }
}
