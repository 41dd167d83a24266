//! Changing a manager while it runs.

use super::{
    addresses::{Addresses, bound},
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
    wait::await_condition,
};
use std::{net::SocketAddr, sync::Arc};
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

/// Adds controllers and components to a running [`Manager`](super::Manager), removes them, and knows its addresses.
///
/// What is added before the start has finished begins after it.
#[derive(Debug, Clone)]
pub struct ManagerHandle {
    client: Client,
    commands: mpsc::UnboundedSender<Command>,
    addresses: watch::Receiver<Addresses>,
}

/// What a running manager is to do.
pub(super) enum Command {
    Add(ManagedController),
    AddComponent(Arc<str>, Component, Restart),
    AddLeaderComponent(Arc<str>, Component, Restart),
    /// The sender is dropped when the controller or component has ended.
    Remove(Arc<str>, oneshot::Sender<()>),
}

impl std::fmt::Debug for Command {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Add(controller) => f.debug_tuple("Add").field(&controller.name).finish(),
            Self::AddComponent(name, ..) => f.debug_tuple("AddComponent").field(name).finish(),
            Self::AddLeaderComponent(name, ..) => f.debug_tuple("AddLeaderComponent").field(name).finish(),
            Self::Remove(name, _) => f.debug_tuple("Remove").field(name).finish(),
        }
    }
}

impl ManagerHandle {
    pub(super) fn new(
        client: Client,
        commands: mpsc::UnboundedSender<Command>,
        addresses: watch::Receiver<Addresses>,
    ) -> Self {
        Self { client, commands, addresses }
    }

    /// Runs another controller, as by [`Manager::controller`](super::Manager::controller). A name that is taken stops the manager with an
    /// error. Does nothing after the manager has ended.
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

    /// Where metrics and health are served. Waits until the address is bound; `None` if the manager does not serve them, or ended before.
    pub async fn metrics_address(&self) -> Option<SocketAddr> {
        bound(self.addresses.clone(), |addresses| addresses.metrics).await
    }

    /// Where webhooks are served. Waits until the address is bound; `None` if the manager does not serve them, or ended before.
    pub async fn webhook_address(&self) -> Option<SocketAddr> {
        bound(self.addresses.clone(), |addresses| addresses.webhooks).await
    }

    fn send(&self, command: Command) {
        drop(self.commands.send(command)); // an error: the manager has ended
    }

    /// Stops a controller or component. Returns when it has ended, a controller with its running reconciles; at once if there is none of
    /// this name. There is no time limit: drop the future to wait no longer.
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
