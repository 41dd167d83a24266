//! Changing a manager while it runs.

use super::controllers::{Managed, ManagedController};
use futures::TryFuture;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube_client::{Api, Client};
use kube_runtime::{Controller, conditions::is_deleted, controller::Action, wait::await_condition};
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};

/// Adds controllers to a running [`Manager`](super::Manager), and removes them.
#[derive(Debug, Clone)]
pub struct ManagerHandle {
    client: Client,
    commands: mpsc::UnboundedSender<Command>,
}

/// What a running manager is to do.
pub(super) enum Command {
    Add(ManagedController),
    /// The sender is dropped when the controller has ended.
    Remove(Arc<str>, oneshot::Sender<()>),
}

impl std::fmt::Debug for Command {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Add(controller) => f.debug_tuple("Add").field(&controller.name).finish(),
            Self::Remove(name, _) => f.debug_tuple("Remove").field(name).finish(),
        }
    }
}

impl ManagerHandle {
    pub(super) fn new(client: Client, commands: mpsc::UnboundedSender<Command>) -> Self {
        Self { client, commands }
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
        let controller = ManagedController::new(name, controller, reconciler, context);
        drop(self.commands.send(Command::Add(controller))); // an error: the manager has ended
    }

    /// Stops a controller. Returns when its running reconciles have ended; at once if there is none of this name.
    pub async fn remove(&self, name: &str) {
        let (removed, wait) = oneshot::channel();
        drop(self.commands.send(Command::Remove(name.into(), removed)));
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
