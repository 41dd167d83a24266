//! [`Membership`]: the handle of a member, and the task that performs what its state machine requests.

use super::{
    config::{Config, InvalidConfig},
    machine::{Change, GROUP_LABEL, Machine, Request, Response},
    rendezvous::PartitionBy,
};
use crate::{clock::Clock, leader_election::time_to_stop};
use futures::{
    FutureExt,
    future::{BoxFuture, pending},
};
use k8s_openapi::api::coordination::v1::Lease;
use kube_client::{
    Api, Client,
    api::{DeleteParams, ListParams, PostParams, Preconditions},
    error::ErrorChain,
    time,
};
use kube_runtime::controller::{Assigner, Assignment, Assignments};
use parking_lot::Mutex;
use std::{sync::Arc, time::Duration};
use tokio::{
    sync::{mpsc, watch},
    time::{Instant, timeout},
};

/// A member of a group of replicas that share the objects among them.
///
/// Its Lease is renewed by a task, which ends by [`leave`](Self::leave) or when all clones are dropped. Then this process reconciles
/// nothing any more, and the others take over: at once if the task could stop everything and tell them.
#[derive(Debug, Clone)]
pub struct Membership {
    identity: Arc<str>,
    assignments: Assignments,
    members: watch::Receiver<Option<Vec<String>>>,
    stop: mpsc::UnboundedSender<Stop>,
}

/// How the task is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    Leave,
    /// Without giving the Lease up.
    LetExpire,
}

impl Membership {
    /// Joins a group.
    ///
    /// # Errors
    ///
    /// Settings that contradict each other. An unreachable server is no error: the member tries again every
    /// [`retry_period`](Config::retry_period), and logs why.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    pub fn join(client: Client, config: Config) -> Result<Self, InvalidConfig> {
        let identity = config.lease_identity();
        config.validate()?;
        let lease = &config.lease;
        let assigner = Assigner::new();
        let (members, receiver) = watch::channel(Some(Vec::new()));
        let (stop, stopped) = mpsc::unbounded_channel();
        let membership = Self {
            identity: identity.as_str().into(),
            assignments: assigner.assignments(),
            members: receiver,
            stop,
        };
        let task = Task {
            api: Api::namespaced(client, &lease.namespace),
            selector: format!("{GROUP_LABEL}={}", lease.name),
            request_timeout: lease.renew_deadline / 2,
            retry_period: lease.retry_period,
            time_to_stop: time_to_stop(lease),
            clock: lease.clock.clone(),
            partition_by: config.partition_by,
            machine: Machine::new(lease, identity),
            limits: Arc::default(),
            occupied_by: None,
            failing: false,
            assigner,
            members,
        };
        tokio::spawn(task.run(stopped));
        Ok(membership)
    }

    /// The name of this process in the group: the configured identity if the name of a Lease can end with it. Otherwise every character
    /// that a name cannot have is `-`, a long one is cut, and the hash of the configured one follows.
    pub fn identity(&self) -> &str {
        &self.identity
    }

    /// The objects of this member, for [`Controller::assigned_by`](kube_runtime::Controller::assigned_by) of any number of controllers.
    pub fn assignments(&self) -> Assignments {
        self.assignments.clone()
    }

    /// The identities of the members among which this one shares the objects, in order. Empty before it has joined, and while it could not
    /// renew its Lease.
    pub fn members(&self) -> Vec<String> {
        self.members.borrow().clone().unwrap_or_default()
    }

    /// Stops all reconciles of this process, and leaves the group. Reconciles that still run shortly before the Lease can expire are
    /// cancelled; if even that has not ended them, the Lease is not given up but expires. Returns when the others may take over, or when
    /// the server did not respond for half of the renew deadline. It does not depend on who polls the outputs of the controllers.
    pub async fn leave(&self) {
        let _stopped_already = self.stop.send(Stop::Leave);
        let mut members = self.members.clone();
        drop(members.wait_for(Option::is_none).await);
    }

    /// Stops all reconciles of this process, and does not renew its Lease any more: the others take over after its expiry. For work that
    /// could not be stopped and may go on, such as that of a thread. Does not wait. Does nothing after [`leave`](Self::leave).
    pub fn let_expire(&self) {
        let _stopped_already = self.stop.send(Stop::LetExpire);
    }
}

struct Task {
    api: Api<Lease>,
    selector: String,
    request_timeout: Duration,
    retry_period: Duration,
    time_to_stop: Duration,
    clock: Clock,
    partition_by: PartitionBy,
    machine: Machine,
    limits: Arc<Mutex<Limits>>,
    /// The other holder of this member's Lease that was logged last.
    occupied_by: Option<String>,
    /// Whether the last request failed.
    failing: bool,
    assigner: Assigner,
    members: watch::Sender<Option<Vec<String>>>,
}

/// The limits of the assignment, for the controllers.
#[derive(Default)]
struct Limits {
    /// Until when reconciles may start.
    start: Option<Instant>,
    /// Until when they may run.
    work: Option<Instant>,
}

impl Task {
    async fn run(mut self, mut stop: mpsc::UnboundedReceiver<Stop>) {
        let mut stopping: BoxFuture<'static, ()> = pending().boxed();
        let order = loop {
            let next = self.clock.now() + self.retry_period;
            let request = self.machine.attempt(time::now());
            tokio::select! {
                biased;
                order = stop.recv() => break order,
                () = self.exchange(request) => {}
            }
            if let Some(stopped) = self.assign() {
                stopping = stopped;
            }
            tokio::select! {
                biased;
                order = stop.recv() => break order,
                () = self.wait_until(next, &mut stopping) => {}
            }
        };
        let cancel_at = self.machine.stop(self.clock.now());
        self.assigner.assign_by(Assignment::none(), self.clock.in_tokio_time(cancel_at)).await;
        // What had to be cancelled may still run in a thread.
        let stopped = self.clock.now() < cancel_at;
        if stopped && order != Some(Stop::LetExpire) {
            let request = self.machine.leave(time::now());
            let _unconfirmed = timeout(self.request_timeout, self.exchange(request)).await;
        }
        self.members.send_replace(None);
    }

    /// Sends `request`, and the requests that follow from the responses. Ends when the renew deadline has passed.
    async fn exchange(&mut self, request: Request) {
        let mut next = Some(request);
        while let Some(request) = next {
            let sent = self.clock.now();
            let response = match self.clock.timeout_at(self.machine.limit(sent), self.send(&request)).await {
                Ok(response) => response,
                Err(_) => {
                    tracing::warn!(group = self.selector, after = ?self.clock.now() - sent, "sharding: the server did not respond in time");
                    Response::Failed
                }
            };
            let failed = matches!(response, Response::Failed);
            if std::mem::replace(&mut self.failing, failed) && !failed {
                tracing::info!(group = self.selector, "sharding: requests succeed again");
            }
            next = self.machine.respond(request, response, sent, self.clock.now(), time::now());
            let deadline = self.machine.deadline();
            let mut limits = self.limits.lock();
            limits.start = deadline;
            limits.work = deadline.map_or(limits.work, |deadline| Some(deadline + self.time_to_stop));
            drop(limits);
            self.log_holder();
        }
    }

    /// Logs once who keeps this member out of the group.
    fn log_holder(&mut self) {
        let holder = self.machine.occupied_by();
        if holder != self.occupied_by.as_deref() {
            self.occupied_by = holder.map(str::to_owned);
            if let Some(holder) = holder {
                let lease = self.machine.lease_name();
                tracing::error!(
                    lease,
                    holder,
                    "sharding: this process cannot join the group, because another program holds the Lease with its name: delete the Lease, or choose another identity"
                );
            }
        }
    }

    /// Assigns what the machine claims to the controllers, if that has changed. The future completes when the rest has stopped.
    fn assign(&mut self) -> Option<BoxFuture<'static, ()>> {
        let change = self.machine.assign(self.clock.now());
        self.members.send_if_modified(|members| {
            let current = Some(self.machine.members());
            let changed = *members != current;
            if changed {
                tracing::info!(group = self.selector, members = ?current, "sharding: the members of the group have changed");
            }
            *members = current;
            changed
        });
        let Change { claims, cancel_at } = change?;
        let assignment = if claims.own.is_empty() {
            Assignment::none()
        } else {
            let (limits, partition_by) = (Arc::clone(&self.limits), self.partition_by);
            let (work_limits, clock, work_clock) =
                (Arc::clone(&limits), self.clock.clone(), self.clock.clone());
            let includes =
                move |namespace: Option<&str>, name: &str| claims.include(partition_by.hash(namespace, name));
            let valid = move || limits.lock().start.is_some_and(|limit| clock.now() < limit);
            let may_run = move || work_limits.lock().work.is_some_and(|limit| work_clock.now() < limit);
            Assignment::matching(includes).valid_while(valid).run_while(may_run)
        };
        Some(match cancel_at {
            Some(cancel_at) => {
                self.assigner.assign_by(assignment, self.clock.in_tokio_time(cancel_at)).boxed()
            }
            None => self.assigner.assign(assignment).boxed(),
        })
    }

    /// Waits for the next attempt, which is due at once when the next view can be published. Stops everything at the renew deadline
    /// meanwhile.
    async fn wait_until(&mut self, next: Instant, stopping: &mut BoxFuture<'static, ()>) {
        loop {
            let deadline = self.machine.deadline().filter(|deadline| *deadline < next);
            tokio::select! {
                () = &mut *stopping => {
                    *stopping = pending().boxed();
                    if self.machine.stopped() {
                        return;
                    }
                }
                () = self.clock.sleep_until(deadline.unwrap_or(next)) => match deadline {
                    None => return,
                    Some(_) => if let Some(stopped) = self.assign() {
                        *stopping = stopped;
                    }
                }
            }
        }
    }

    async fn send(&self, request: &Request) -> Response {
        let parameters = PostParams::default();
        let name = |lease: &Lease| lease.metadata.name.clone().unwrap_or_default();
        let result = match request {
            Request::List => {
                let list = self.api.list(&ListParams::default().labels(&self.selector)).await;
                list.map(|list| Response::Leases(list.items))
            }
            Request::Find(name) => {
                let named = ListParams::default().fields(&format!("metadata.name={name}"));
                self.api.list(&named).await.map(|list| Response::Leases(list.items))
            }
            Request::Create(lease) => self.api.create(&parameters, lease).await.map(stored),
            Request::Replace(lease) => self.api.replace(&name(lease), &parameters, lease).await.map(stored),
            Request::Delete(name, version) => {
                let preconditions = Preconditions { resource_version: Some(version.clone()), uid: None };
                let parameters =
                    DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
                self.api.delete(name, &parameters).await.map(|_| Response::Deleted)
            }
        };
        match result {
            Ok(response) => response,
            Err(error) if error.is_not_found() || error.is_conflict() || error.is_already_exists() => {
                if let Request::Create(lease) = request {
                    let lease = lease.metadata.name.as_deref().unwrap_or_default();
                    tracing::warn!(
                        lease,
                        group = self.selector,
                        "sharding: the Lease of this member exists without the label of its group, and is taken over"
                    );
                }
                Response::Conflict
            }
            Err(error) => {
                tracing::warn!(group = self.selector, error = %ErrorChain(&error), "sharding: a request failed");
                Response::Failed
            }
        }
    }
}

fn stored(lease: Lease) -> Response {
    Response::Lease(Box::new(lease))
}
