//! Controllers that run while their kind is served: see [`Manager::while_served`](super::Manager::while_served).

use super::{
    controllers::{Managed, ManagedController},
    error::BoxError,
    handle::Command,
};
use futures::TryFuture;
use kube_core::{ApiResource, Resource, discovery::Scope};
use kube_runtime::{
    Controller,
    controller::{Action, Reconcile},
    served::{Availability, ServedKind, ServedKinds, scope_of},
};
use std::{fmt, marker::PhantomData, sync::Arc, time::Duration};
use tokio::{
    sync::{mpsc, oneshot},
    time::timeout,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// The API paths that [`ServedKinds`] watches.
pub(super) const DEFINITION_PATHS: [&str; 2] = [
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "/apis/apiregistration.k8s.io/v1/apiservices",
];

/// The readiness check that names missing kinds.
pub(super) const KINDS_CHECK: &str = "served-kinds";

/// A controller of the kind `K` with its reconciler, made each time that the kind becomes served.
///
/// What waits for one kind cannot run a controller of another:
///
/// ```compile_fail,E0308
/// use k8s_openapi::api::core::v1::{ConfigMap, Secret};
/// # use kube_client::{Api, Client};
/// # use kube_operator::manager::{Manager, ServedController};
/// # use kube_runtime::{Controller, controller::Action, watcher::Config};
/// # use std::{convert::Infallible, sync::Arc};
/// # async fn reconcile(_: Arc<ConfigMap>, _: Arc<()>) -> Result<Action, Infallible> { Ok(Action::await_change()) }
/// # fn manager(client: Client) -> Manager {
/// Manager::new(client.clone()).while_served::<Secret>("maps", move || {
///     let controller: Controller<ConfigMap> = Controller::new(Api::all(client.clone()), Config::default());
///     ServedController::new(controller, reconcile, Arc::new(())) // for `while_served::<ConfigMap>`
/// })
/// # }
/// ```
pub struct ServedController<K> {
    make: MakeManaged,
    kind: PhantomData<fn() -> K>,
}

/// Makes the controller with this name.
type MakeManaged = Box<dyn FnOnce(&str) -> ManagedController + Send>;

/// The versions of a kind that a program knows, each with its type and the controller for it: for
/// [`Manager::while_any_served`](super::Manager::while_any_served).
pub struct ServedVersions {
    scope: Option<Scope>,
    first: ServedVersion,
    others: Vec<ServedVersion>,
}

struct ServedVersion {
    resource: ApiResource,
    make: Box<dyn FnMut() -> MakeManaged + Send>,
}

/// A controller of a manager that runs while its kind is served.
pub(super) struct WhileServed {
    /// Of the controller.
    pub(super) name: Arc<str>,
    kind: ServedKind,
    versions: Vec<NamedVersion>,
}

struct NamedVersion {
    version: ServedVersion,
    /// The controller of the first time.
    first: Option<ManagedController>,
}

impl<K: Managed> ServedController<K>
where
    Controller<K>: Send,
{
    /// As for [`Manager::controller`](super::Manager::controller).
    pub fn new<Ctx, F>(
        controller: Controller<K>,
        reconciler: impl FnMut(Arc<K>, Arc<Ctx>) -> F + Send + 'static,
        context: Arc<Ctx>,
    ) -> Self
    where
        Ctx: Send + Sync + 'static,
        F: TryFuture<Ok = Action> + Send + 'static,
        F::Error: std::error::Error + Send + Sync + 'static,
    {
        Self::of(move |name| ManagedController::new(name, controller, reconciler, context))
    }

    /// As for [`Manager::reconciler`](super::Manager::reconciler).
    pub fn with_reconciler(controller: Controller<K>, reconciler: impl Reconcile<K>) -> Self {
        Self::of(move |name| ManagedController::with_reconciler(name, controller, reconciler))
    }

    fn of(make: impl FnOnce(&str) -> ManagedController + Send + 'static) -> Self {
        Self { make: Box::new(make), kind: PhantomData }
    }
}

impl ServedVersions {
    /// The version of the type `K`, and what makes the controller for it.
    pub fn of<K: Managed + Resource<DynamicType: Default>>(
        make: impl FnMut() -> ServedController<K> + Send + 'static,
    ) -> Self {
        Self { scope: scope_of::<K>(), first: ServedVersion::of::<K>(make), others: Vec::new() }
    }

    /// Also that of the type `K`. The newest served version is used. The scope is that of the first type.
    #[must_use]
    pub fn or<K: Managed + Resource<DynamicType: Default>>(
        mut self,
        make: impl FnMut() -> ServedController<K> + Send + 'static,
    ) -> Self {
        self.others.push(ServedVersion::of::<K>(make));
        self
    }
}

impl ServedVersion {
    fn of<K: Resource<DynamicType: Default> + 'static>(
        mut make: impl FnMut() -> ServedController<K> + Send + 'static,
    ) -> Self {
        let resource = ApiResource::erase::<K>(&K::DynamicType::default());
        Self { resource, make: Box::new(move || make().make) }
    }
}

impl WhileServed {
    pub(super) fn new(name: &str, versions: ServedVersions, kinds: &ServedKinds) -> Self {
        let ServedVersions { scope, first, others } = versions;
        let known = others.iter().map(|version| version.resource.clone());
        let kind = kinds.kind_in(first.resource.clone(), known, scope);
        let named = |mut version: ServedVersion| {
            let first = (version.make)();
            NamedVersion { first: Some(first(name)), version }
        };
        Self { name: name.into(), kind, versions: [first].into_iter().chain(others).map(named).collect() }
    }

    /// The API paths that it watches, in any version.
    pub(super) fn paths(&self) -> impl Iterator<Item = String> {
        let first = self.versions.iter().filter_map(|version| version.first.as_ref());
        first.flat_map(|controller| controller.paths.clone())
    }

    /// The name of what starts and stops it.
    pub(super) fn component_name(&self) -> Arc<str> {
        format!("{} (while its kind is served)", self.name).into()
    }

    /// Has the manager add and remove the controller, until it stops. `grace` is how long running reconciles may take when their kind is
    /// not served any more: one that hangs must not keep the kind away when it returns.
    pub(super) async fn run(
        mut self,
        commands: mpsc::UnboundedSender<Command>,
        grace: Duration,
        stop: CancellationToken,
    ) -> Result<(), BoxError> {
        let follow = async {
            let mut running = None;
            loop {
                let availability = self.kind.next().await;
                if let Some(reconciles) = running.take() {
                    remove(&commands, &self.name, &reconciles, grace).await;
                }
                if let Availability::Served(resource) = availability
                    && let Some(controller) = self.controller(&resource)
                {
                    running = Some(controller.reconciles.clone());
                    drop(commands.send(Command::Add(controller))); // an error: the manager has ended
                }
            }
        };
        tokio::select! {
            () = follow => {}
            () = stop.cancelled() => {}
        }
        Ok(())
    }

    fn controller(&mut self, resource: &ApiResource) -> Option<ManagedController> {
        let NamedVersion { version, first } =
            self.versions.iter_mut().find(|it| it.version.resource == *resource)?;
        let made = first.take();
        let controller = made.unwrap_or_else(|| {
            let made = (version.make)();
            made(&self.name)
        });
        Some(ManagedController { while_served: true, ..controller })
    }
}

/// Returns when the controller has ended, with its running reconciles, which are aborted after `grace`: one that blocks its thread goes on
/// until its next `await`.
async fn remove(
    commands: &mpsc::UnboundedSender<Command>,
    name: &Arc<str>,
    reconciles: &TaskTracker,
    grace: Duration,
) {
    let (removed, mut ended) = oneshot::channel();
    drop(commands.send(Command::Remove(Arc::clone(name), removed)));
    if timeout(grace, &mut ended).await.is_err() {
        tracing::error!(controller = %name, waited = ?grace, "reconciles still run although their kind is not served any more: they are aborted");
        drop(commands.send(Command::Abort(Arc::clone(name))));
        let _dropped = ended.await;
    }
    reconciles.close();
    reconciles.wait().await;
}

impl<K> fmt::Debug for ServedController<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServedController").finish_non_exhaustive()
    }
}

impl fmt::Debug for ServedVersions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let versions = [&self.first].into_iter().chain(&self.others);
        f.debug_list().entries(versions.map(|version| &version.resource)).finish()
    }
}
