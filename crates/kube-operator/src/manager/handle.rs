//! Changing a manager while it runs.

use super::{
    addresses::{Addresses, bound},
    cache::{Cached, Caches},
    components::{Component, Restart},
    controllers::{Managed, ManagedController},
    error::BoxError,
};
use futures::TryFuture;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube_client::{Api, Client};
use kube_runtime::{
    Controller,
    conditions::is_deleted,
    controller::{Action, Reconcile},
    reflector::Store,
    wait::await_condition,
    watcher,
};
use std::{fmt, net::SocketAddr, sync::Arc};
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

/// Adds controllers, components and caches to a running [`Manager`](super::Manager), removes them, and knows its addresses.
///
/// What is added before the start has finished begins after it.
#[derive(Clone)]
pub struct ManagerHandle {
    pub(super) client: Client,
    pub(super) commands: mpsc::UnboundedSender<Command>,
    pub(super) addresses: watch::Receiver<Addresses>,
    pub(super) caches: Caches,
}

/// What a running manager is to do.
pub(super) enum Command {
    Add(ManagedController),
    AddComponent(Arc<str>, Component, Restart),
    AddLeaderComponent(Arc<str>, Component, Restart),
    /// The sender is dropped when the controller or component has ended.
    Remove(Arc<str>, oneshot::Sender<()>),
    /// What is to be removed does not end.
    Abort(Arc<str>),
}

impl fmt::Debug for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Add(controller) => f.debug_tuple("Add").field(&controller.name).finish(),
            Self::AddComponent(name, ..) => f.debug_tuple("AddComponent").field(name).finish(),
            Self::AddLeaderComponent(name, ..) => f.debug_tuple("AddLeaderComponent").field(name).finish(),
            Self::Remove(name, _) => f.debug_tuple("Remove").field(name).finish(),
            Self::Abort(name) => f.debug_tuple("Abort").field(name).finish(),
        }
    }
}

impl fmt::Debug for ManagerHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ManagerHandle").field("addresses", &*self.addresses.borrow()).finish_non_exhaustive()
    }
}

impl ManagerHandle {
    /// Runs another controller, as by [`Manager::controller`](super::Manager::controller). A name that is taken, also by a controller
    /// that waits for its kind, stops the manager with an error. Does nothing after the manager has ended.
    pub fn add<K: Managed, Ctx, F>(
        &self,
        name: &str,
        controller: Controller<K>,
        reconciler: impl FnMut(Arc<K>, Arc<Ctx>) -> F + Send + 'static,
        context: Arc<Ctx>,
    ) where
        Ctx: Send + Sync + 'static,
        F: TryFuture<Ok = Action> + Send + 'static,
        F::Error: std::error::Error + Send + Sync + 'static,
    {
        self.send(Command::Add(ManagedController::new(name, controller, reconciler, context)));
    }

    /// Like [`add`](Self::add), for a reconciler that is a type, as by [`Manager::reconciler`](super::Manager::reconciler).
    pub fn add_reconciler<K: Managed>(
        &self,
        name: &str,
        controller: Controller<K>,
        reconciler: impl Reconcile<K>,
    ) {
        self.send(Command::Add(ManagedController::with_reconciler(name, controller, reconciler)));
    }

    /// Runs another component in this replica, as by [`Manager::component`](super::Manager::component). A name that is taken stops the
    /// manager with an error. Does nothing after the manager has ended.
    pub fn add_component<F, E>(
        &self,
        name: &str,
        restart: Restart,
        component: impl FnMut(CancellationToken) -> F + Send + 'static,
    ) where
        F: Future<Output = Result<(), E>> + Send + 'static,
        E: Into<BoxError>,
    {
        self.send(Command::AddComponent(name.into(), Component::new(component), restart));
    }

    /// Like [`add_component`](Self::add_component), while this process leads, as by
    /// [`Manager::leader_component`](super::Manager::leader_component).
    pub fn add_leader_component<F, E>(
        &self,
        name: &str,
        restart: Restart,
        component: impl FnMut(CancellationToken) -> F + Send + 'static,
    ) where
        F: Future<Output = Result<(), E>> + Send + 'static,
        E: Into<BoxError>,
    {
        self.send(Command::AddLeaderComponent(name.into(), Component::new(component), restart));
    }

    /// A cache of these objects, as by [`Manager::cache`](super::Manager::cache): the same store if the manager has it already. After the
    /// manager has ended, it is never filled.
    ///
    /// Controllers that run already do not wait for it: neither for its first list (see [`Store::wait_until_ready`]), nor until it shows
    /// what they [have written](kube_runtime::Config::wait_for_own_writes) (see [`Store::wait_for`]). Those that start later do.
    pub fn cache<K: Cached>(&self, api: Api<K>, config: watcher::Config) -> Store<K> {
        let (store, fill) = self.caches.store(api, config);
        if let Some((name, fill)) = fill {
            self.send(Command::AddComponent(name, fill, Restart::Never));
        }
        store
    }

    /// Stops the watch of a cache, for all that share it: their stores keep the last state, and controllers that share it go on with that.
    /// Returns when it has ended, at once if there is no such cache. Before that, [`cache`](Self::cache) still returns the old store. A
    /// controller of the cached objects that still waits for their first list fails, which stops the manager.
    pub async fn remove_cache<K: Cached>(&self, api: &Api<K>, config: &watcher::Config) {
        if let Some(name) = self.caches.name(api, config) {
            self.remove(&name).await;
        }
    }

    /// Where metrics and health are served. Waits until the address is bound; `None` if the manager does not serve them, or ended before.
    pub async fn metrics_address(&self) -> Option<SocketAddr> {
        bound(self.addresses.clone(), |addresses| addresses.metrics).await
    }

    /// Where the debug page is served if it has [an address of its own](super::Manager::serve_debug_page). Waits until the address is
    /// bound; `None` if it has none, or the manager ended before.
    pub async fn debug_page_address(&self) -> Option<SocketAddr> {
        bound(self.addresses.clone(), |addresses| addresses.debug_page).await
    }

    /// Where webhooks are served. Waits until the address is bound; `None` if the manager does not serve them, or ended before.
    pub async fn webhook_address(&self) -> Option<SocketAddr> {
        bound(self.addresses.clone(), |addresses| addresses.webhooks).await
    }

    fn send(&self, command: Command) {
        drop(self.commands.send(command)); // an error: the manager has ended
    }

    /// Stops a controller or component. Returns when it has ended, a controller with its running reconciles; at once if there is none of
    /// this name. An error with which it ends stops the manager. There is no time limit: drop the future to wait no longer.
    pub async fn remove(&self, name: &str) {
        let (removed, wait) = oneshot::channel();
        self.send(Command::Remove(name.into(), removed));
        let _dropped = wait.await;
    }

    /// Waits until this CRD is deleted, such as `pages.example.com`, and then stops the controller: its watch would only fail. If there
    /// is no such CRD yet, waits for it first.
    ///
    /// # Errors
    ///
    /// The CRD cannot be read or watched.
    pub async fn remove_with_crd(&self, name: &str, crd: &str) -> Result<(), kube_runtime::wait::Error> {
        let crds: Api<CustomResourceDefinition> = Api::all(self.client.clone());
        let exists = |crd: Option<&CustomResourceDefinition>| crd.is_some();
        let uid = await_condition(crds.clone(), crd, exists)
            .await?
            .and_then(|crd| crd.metadata.uid)
            .unwrap_or_default();
        await_condition(crds, crd, is_deleted(&uid)).await?;
        self.remove(name).await;
        Ok(())
    }
}
