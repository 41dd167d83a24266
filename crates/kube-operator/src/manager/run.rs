//! Running a manager: the phases of its start, and of its stop in reverse.

use super::{
    build::{Hook, Manager, Replicas},
    components::{Component, Group, Restart, supervise},
    controllers::ManagedController,
    error::{BoxError, ManagerError},
    handle::Command,
    serve::{MetricsServer, Replica, Status, serve_webhooks},
};
use crate::health::Health;
use kube_client::Client;
use kube_runtime::{
    controller::{Assignments, ProgressLimits},
    leader_election::LeaderElector,
    sharding::Membership,
};
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use tokio::{
    sync::{mpsc, oneshot},
    time::Instant,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// A running manager.
pub(super) struct Running {
    servers: Group,
    components: Group,
    controllers: Group,
    leading: Group,
    status: Status,
    health: Health,
    limits: ProgressLimits,
    assignments: Option<Assignments>,
    commands: mpsc::UnboundedReceiver<Command>,
    /// Who waits for the end of a controller.
    removals: BTreeMap<Arc<str>, Vec<oneshot::Sender<()>>>,
    grace_period: Duration,
}

impl Running {
    pub(super) async fn start(manager: Manager) -> Result<Self, ManagerError> {
        check_names(&manager)?;
        let status = Status::default();
        let mut servers = Group::default();
        if let Some(address) = manager.metrics {
            let server = MetricsServer::bind(address, &manager.health, &status, manager.routes).await?;
            servers.start("the metrics server".into(), |stop| server.serve(stop));
        }
        if let Some(webhook) = manager.webhooks {
            let server = webhook.start().await?;
            servers.start("the webhook server".into(), |stop| serve_webhooks(server, stop));
        }
        let mut components = Group::default();
        for (name, component, restart) in manager.components {
            components.start(Arc::clone(&name), |stop| supervise(name, component, restart, stop));
        }
        let (replica, assignments) = join(manager.client, manager.replicas, manager.before_leading).await?;
        status.replica.get_or_init(|| replica);
        let mut running = Self {
            servers,
            components,
            controllers: Group::default(),
            leading: Group::default(),
            status,
            health: manager.health,
            limits: manager.limits,
            assignments,
            commands: manager.commands.1,
            removals: BTreeMap::new(),
            grace_period: manager.grace_period,
        };
        for controller in manager.controllers {
            running.add(controller)?;
        }
        for (name, component, restart) in manager.leader_components {
            let assignments = running.assignments.clone();
            running.leading.start(Arc::clone(&name), |stop| async move {
                match assignments {
                    Some(assignments) => while_assigned(assignments, name, component, restart, stop).await,
                    None => supervise(name, component, restart, stop).await,
                }
            });
        }
        Ok(running)
    }

    /// Runs until `shutdown` completes or something fails, and stops everything.
    pub(super) async fn run(mut self, shutdown: impl Future<Output = ()> + Send) -> Result<(), ManagerError> {
        let mut shutdown = std::pin::pin!(shutdown);
        let result = loop {
            let (name, result) = tokio::select! {
                () = &mut shutdown => break Ok(()),
                Some(command) = self.commands.recv() => match self.execute(command) {
                    Ok(()) => continue,
                    Err(error) => break Err(error),
                },
                Some(ended) = self.controllers.next_ended() => ended,
                Some(ended) = self.leading.next_ended() => ended,
                Some(ended) = self.components.next_ended() => ended,
                Some(ended) = self.servers.next_ended() => ended,
            };
            self.status.remove(&name, &self.health);
            let removed = self.removals.remove(&name).is_some();
            match result {
                Ok(()) if removed => tracing::info!(%name, "removed"),
                Ok(()) => break Err(ManagerError::Failed { name, reason: Box::new(super::error::Ended) }),
                Err(reason) => break Err(ManagerError::Failed { name, reason }),
            }
        };
        if let Err(error) = &result {
            tracing::error!(error = %kube_client::error::ErrorChain(error), "the manager stops");
        }
        let stopped = self.stop().await;
        result.and(stopped)
    }

    fn execute(&mut self, command: Command) -> Result<(), ManagerError> {
        match command {
            Command::Add(controller) if self.has(&controller.name) => {
                Err(ManagerError::DuplicateName(controller.name))
            }
            Command::Add(controller) => self.add(controller),
            Command::Remove(name, removed) => {
                if self.controllers.contains(&name) {
                    self.controllers.stop(&name);
                    self.removals.entry(name).or_default().push(removed);
                }
                Ok(())
            }
        }
    }

    fn has(&self, name: &str) -> bool {
        [&self.controllers, &self.leading, &self.components].iter().any(|group| group.contains(name))
    }

    fn add(&mut self, controller: ManagedController) -> Result<(), ManagerError> {
        let ManagedController { name, monitor, run } = controller;
        self.status.add(&name, &monitor, &self.health, &self.limits);
        let assignments = self.assignments.clone();
        self.controllers.start(name, |stop| run(assignments, stop));
        Ok(())
    }

    async fn stop(mut self) -> Result<(), ManagerError> {
        let deadline = Instant::now() + self.grace_period;
        let (mut result, mut late) = (Ok(()), Vec::new());
        result = result.and(self.leading.stop_all(deadline, &mut late).await);
        result = result.and(self.controllers.stop_all(deadline, &mut late).await);
        // Another replica may take over as soon as nothing runs here any more.
        drop(self.assignments.take());
        match self.status.replica.get() {
            Some(Replica::Elected(elector)) => elector.release().await,
            Some(Replica::Member(membership)) => membership.leave().await,
            Some(Replica::Alone) | None => {}
        }
        result = result.and(self.components.stop_all(deadline, &mut late).await);
        result = result.and(self.servers.stop_all(deadline, &mut late).await);
        if !late.is_empty() {
            result = result.and(Err(ManagerError::GracePeriod { names: late, limit: self.grace_period }));
        }
        result
    }
}

/// Joins the other replicas. The hooks run after each election, or now.
async fn join(
    client: Client,
    replicas: Replicas,
    hooks: Vec<Hook>,
) -> Result<(Replica, Option<Assignments>), ManagerError> {
    Ok(match replicas {
        Replicas::Alone => {
            call_all(hooks).await;
            (Replica::Alone, None)
        }
        Replicas::Elected(config) => {
            let elector = LeaderElector::start(client, config)?;
            let assignments = elector.assignments(move || call_all(hooks.clone()));
            (Replica::Elected(elector), Some(assignments))
        }
        Replicas::Sharded(config) => {
            call_all(hooks).await;
            let membership = Membership::join(client, config)?;
            let assignments = membership.assignments();
            (Replica::Member(membership), Some(assignments))
        }
    })
}

fn check_names(manager: &Manager) -> Result<(), ManagerError> {
    let components = manager.components.iter().chain(&manager.leader_components).map(|(name, ..)| name);
    let controllers = manager.controllers.iter().map(|controller| &controller.name);
    let mut names: Vec<&Arc<str>> = components.chain(controllers).collect();
    names.sort();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(ManagerError::DuplicateName(Arc::clone(pair[0]))),
        None => Ok(()),
    }
}

async fn call_all(hooks: Vec<Hook>) {
    for hook in hooks {
        hook().await;
    }
}

/// Runs a component while it is assigned to this replica.
async fn while_assigned(
    assignments: Assignments,
    name: Arc<str>,
    component: Component,
    restart: Restart,
    stop: CancellationToken,
) -> Result<(), BoxError> {
    let terms = TaskTracker::new();
    let work = assignments.run_while_assigned(&name, |revoked| {
        let term = stop.child_token();
        let run = supervise(Arc::clone(&name), component.clone(), restart, term.clone());
        terms.track_future(async move {
            tokio::pin!(run);
            tokio::select! {
                result = &mut run => return result,
                () = revoked => term.cancel(),
            }
            run.await
        })
    });
    tokio::pin!(work);
    tokio::select! {
        biased;
        result = &mut work => return result,
        () = stop.cancelled() => {}
    }
    // A component that runs ends by itself; otherwise there is nothing to wait for.
    terms.close();
    tokio::select! {
        biased;
        result = &mut work => result,
        () = terms.wait() => Ok(()),
    }
}
