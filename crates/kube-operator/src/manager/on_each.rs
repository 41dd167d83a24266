//! The methods of a [`Manager`] that are about many clusters.

use super::{
    build::Manager,
    controllers::{Managed, ManagedController},
    members::OnEach,
    permissions::NeededRequests,
    writes::Writes,
};
use crate::clusters::{Cluster, ClusterOptions, Clusters, Fleet, OnCluster};
use futures::{FutureExt, TryFuture, TryFutureExt};
use kube_client::Api;
use kube_core::{Resource, Selector};
use kube_runtime::{
    Controller,
    controller::{Action, Reconcile},
};
use std::sync::Arc;

impl Manager {
    /// Runs the controllers of [`controller_on_each`](Self::controller_on_each) on these clusters too. Several calls add up; of two
    /// providers that announce one name, the first one that does has it.
    ///
    /// Nothing waits for a cluster: neither the start of the manager, nor its readiness, nor another cluster. How each is, is in
    /// [`fleet`](Self::fleet) and on the debug page. See [`clusters`](crate::clusters).
    pub fn clusters(mut self, clusters: impl Into<Clusters>) -> Self {
        self.members.providers.push(clusters.into());
        self.members.fleet.expect_provider();
        self
    }

    /// Limits of the clusters, and how their clients are made.
    pub fn cluster_options(mut self, options: ClusterOptions) -> Self {
        self.members.options = options;
        self
    }

    /// The clusters and how they are, while the manager runs.
    #[must_use]
    pub fn fleet(&self) -> Fleet {
        self.members.fleet.clone()
    }

    /// Calls `removed` for a cluster that no provider announces any more, 2 s after its reconciles have ended: to take the finalizers of
    /// the program off, say. It may use the client of the cluster for [`ClusterOptions::grace_period`]; what is wrong then, an error
    /// included, is logged. Another call replaces the function.
    ///
    /// It is called where the program sees the removal, so not for a cluster that is removed while the program does not run, nor at the end
    /// of the program, nor for one that has never answered, nor for a name whose cluster has another name or is the hub; and it is called
    /// once, whether it succeeds or not. It is not called for a cluster that gets another name: one that waits for it, or leads to its
    /// address, when the old name has stopped there. With leader election or sharding, the replica calls it that has the cluster then, or
    /// has it 5 s after the Lease of one that has crashed is over at the latest: if that changes meanwhile, another one calls it again. One
    /// that is announced again before it is called is not cleaned up.
    ///
    /// A name that has another address when it is announced again while the old cluster leaves has that cleaned up if the new one says
    /// that it is another, by the uid of `kube-system`. A cluster whose address changes without a removal is not cleaned up: the name has
    /// another cluster then.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_client::{Api, Client, api::{DeleteParams, ListParams}};
    /// use kube_operator::{clusters::Cluster, manager::Manager};
    ///
    /// async fn removed(cluster: Cluster) -> kube_client::Result<()> {
    ///     let maps: Api<ConfigMap> = Api::default_namespaced(cluster.client());
    ///     maps.delete_collection(&DeleteParams::default(), &ListParams::default().labels("app=fleet")).await?;
    ///     Ok(())
    /// }
    ///
    /// fn manager(hub: Client) -> Manager {
    ///     Manager::new(hub).on_cluster_removed(removed)
    /// }
    /// ```
    pub fn on_cluster_removed<F, E>(mut self, removed: impl Fn(Cluster) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<(), E>> + Send + 'static,
        E: Into<Box<dyn std::error::Error + Send + Sync>> + 'static,
    {
        self.members.on_removed = Some(Arc::new(move |cluster| removed(cluster).map_err(Into::into).boxed()));
        self
    }

    /// Runs a controller on each cluster of [`clusters`](Self::clusters), not on the one of the manager's own client. A reconcile that
    /// fails is retried with backoff, as by [`Action::retry`].
    ///
    /// `controller` is called when a cluster starts, by the task that serves all clusters: it must not block. The limits of its
    /// [`Config`](kube_runtime::Config) are for each cluster by itself. The reconciler gets the cluster with the context, which all share;
    /// for a context of each cluster, see [`reconciler_on_each`](Self::reconciler_on_each). Where the controller ends with an error, or a
    /// function panics, the controllers of that cluster start anew, after 1 s at first and then after up to a minute.
    ///
    /// `name` is its name in metrics, for all clusters together; logs have the cluster in a span.
    pub fn controller_on_each<K: Managed, Ctx, F>(
        mut self,
        name: &str,
        controller: impl Fn(&Cluster) -> Controller<K> + Send + Sync + 'static,
        reconciler: impl Fn(Arc<K>, Arc<OnCluster<Ctx>>) -> F + Clone + Send + Sync + 'static,
        context: Arc<Ctx>,
    ) -> Self
    where
        Ctx: Send + Sync + 'static,
        F: TryFuture<Ok = Action> + Send + 'static,
        F::Error: std::error::Error + Send + Sync + 'static,
    {
        let named: Arc<str> = name.into();
        let name = Arc::clone(&named);
        let make = Arc::new(move |cluster: &Cluster, lane| {
            let controller = controller(cluster).share_workers(lane);
            cluster.set_store(&named, controller.store());
            let context = Arc::new(OnCluster::new(cluster.clone(), Arc::clone(&context)));
            ManagedController::new(&named, controller, reconciler.clone(), context)
        });
        self.members.on_each.push(OnEach { name, make });
        self
    }

    /// Like [`controller_on_each`](Self::controller_on_each), for a reconciler that is a type, which is made for each cluster with the
    /// controller.
    pub fn reconciler_on_each<K: Managed, R: Reconcile<K>>(
        mut self,
        name: &str,
        make: impl Fn(&Cluster) -> (Controller<K>, R) + Send + Sync + 'static,
    ) -> Self {
        let named: Arc<str> = name.into();
        let name = Arc::clone(&named);
        let make = Arc::new(move |cluster: &Cluster, lane| {
            let (controller, reconciler) = make(cluster);
            cluster.set_store(&named, controller.store());
            ManagedController::with_reconciler(&named, controller.share_workers(lane), reconciler)
        });
        self.members.on_each.push(OnEach { name, make });
        self
    }

    /// Runs the controller of this name, of [`controller_on_each`](Self::controller_on_each) or
    /// [`reconciler_on_each`](Self::reconciler_on_each), on those clusters only whose labels match. Several calls for one name add up: all
    /// must match. For all controllers, see [`Clusters::matching`].
    ///
    /// When the labels of a cluster change, the controller starts there, or stops: its reconciles have
    /// [`ClusterOptions::grace_period`] for it. The others go on.
    /// A cluster on which it does not run is [`Synced`](crate::clusters::ClusterState::Synced) without it. A name that no such controller
    /// has is [`ManagerError::NotOnClusters`](super::ManagerError::NotOnClusters) at the start.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_client::{Api, Client};
    /// use kube_operator::{clusters::{Cluster, OnCluster, SecretClusters}, manager::Manager};
    /// use kube_runtime::{Controller, controller::Action, watcher::Config};
    /// use std::{convert::Infallible, sync::Arc};
    ///
    /// fn maps(cluster: &Cluster) -> Controller<ConfigMap> {
    ///     Controller::new(Api::all(cluster.client()), Config::default())
    /// }
    ///
    /// async fn reconcile(_: Arc<ConfigMap>, _: Arc<OnCluster<()>>) -> Result<Action, Infallible> {
    ///     Ok(Action::await_change())
    /// }
    ///
    /// fn manager(hub: Client) -> Result<Manager, kube_core::ParseExpressionError> {
    ///     Ok(Manager::new(hub.clone())
    ///         .clusters(SecretClusters::new(hub))
    ///         .controller_on_each("maps", maps, reconcile, Arc::new(()))
    ///         .only_on_clusters("maps", "stage=production".parse()?))
    /// }
    /// ```
    pub fn only_on_clusters(mut self, name: &str, selector: Selector) -> Self {
        self.members.only_on.push((name.to_owned(), selector));
        self
    }

    /// The program writes to objects of this API of each cluster, as [`writes`](Self::writes) says of the hub: for the roles of
    /// [`Manifests::for_members`](crate::manifests::Manifests::for_members). Nothing else depends on it.
    ///
    /// ```
    /// # use k8s_openapi::api::core::v1::ConfigMap;
    /// # use kube_client::{Api, Client};
    /// use kube_operator::manager::{Manager, Writes};
    ///
    /// # fn manager(hub: Client) -> Manager {
    /// Manager::new(hub)
    ///     .writes_on_each(|cluster| Api::<ConfigMap>::default_namespaced(cluster.client()), Writes::Objects)
    /// # }
    /// ```
    pub fn writes_on_each<K: Resource<Scope: 'static>>(
        mut self,
        api: impl Fn(&Cluster) -> Api<K> + Send + Sync + 'static,
        writes: Writes,
    ) -> Self {
        self.members.writes.push(Arc::new(move |cluster| NeededRequests::of_writes(&api(cluster), writes)));
        self
    }
}
