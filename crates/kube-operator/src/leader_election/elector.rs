//! [`LeaderElector`]: the handle of a candidate, and the task that performs what its state machine requests.

use super::{
    config::{Config, InvalidConfig, default_identity, time_to_stop},
    machine::{Machine, Request, Response},
    metrics::ElectionMetrics,
};
use crate::clock::Clock;
use k8s_openapi::api::coordination::v1::Lease;
use kube_client::{Api, Client, api::PostParams, client::ClusterChange, error::ErrorChain, time};
use std::{sync::Arc, time::Duration};
use tokio::{
    sync::{mpsc, watch},
    time::{Instant, sleep, timeout},
};

/// What an elector knows.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum State {
    /// Another candidate leads, or none.
    Standby {
        /// The holder that the Lease named when it was last read.
        holder: Option<String>,
    },
    /// This process leads.
    Leading,
    /// The elector has ended.
    Stopped,
}

/// The elector has ended: this process will not lead any more.
#[derive(Debug, thiserror::Error)]
#[error("the elector of Lease {lease} was stopped")]
pub struct Stopped {
    lease: Arc<str>,
}

/// Campaigns for a Lease in a task of its own, and renews it while this process leads.
///
/// Clones share one task. It ends when all of them, and the futures made by them, are dropped, or by [`release`](Self::release); it then
/// gives the Lease up, so that another candidate need not wait for its expiry. Drop the last one only after the work of the leader ended;
/// if it may still run, [let the Lease expire](Self::let_expire).
#[derive(Debug, Clone)]
pub struct LeaderElector {
    identity: Arc<str>,
    lease: Arc<str>,
    retry_period: Duration,
    time_to_stop: Duration,
    clock: Clock,
    status: watch::Receiver<Status>,
    orders: mpsc::UnboundedSender<Order>,
}

/// What the task is to do instead of campaigning.
#[derive(Debug)]
enum Order {
    /// Give the Lease up and end.
    Release,
    /// End without giving the Lease up.
    LetExpire,
    /// Give the Lease up, and campaign again after this time.
    StandAside(Duration),
}

#[derive(Debug, Clone)]
struct Status {
    state: State,
    /// Until when the leadership holds unless it is renewed.
    deadline: Option<Instant>,
    /// Until when work of the last leadership may run.
    work_until: Option<Instant>,
}

impl LeaderElector {
    /// Starts to campaign.
    ///
    /// # Errors
    ///
    /// Settings that contradict each other. An unreachable server is no error: the elector tries again every
    /// [`retry_period`](Config::retry_period), and logs why.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    pub fn start(client: Client, config: Config) -> Result<Self, InvalidConfig> {
        config.validate()?;
        let identity = config.identity.clone().unwrap_or_else(default_identity);
        let status = Status { state: State::Standby { holder: None }, deadline: None, work_until: None };
        let (sender, receiver) = watch::channel(status);
        let (orders, received) = mpsc::unbounded_channel();
        let lease = format!("{}/{}", config.namespace, config.name);
        let (retry_period, time_to_stop) = (config.retry_period, time_to_stop(&config));
        let clock = config.clock.clone();
        let task = Task {
            api: Api::namespaced(client, &config.namespace),
            // As controller-runtime has it: one request that hangs leaves time for another.
            request_timeout: config.renew_deadline / 2,
            renew_deadline: config.renew_deadline,
            time_to_stop,
            clock: clock.clone(),
            machine: Machine::new(&config, identity.clone()),
            failure: None,
            failing: false,
            metrics: ElectionMetrics::new(&config.name, &config.namespace),
            name: config.name,
            lease: lease.clone(),
            status: sender,
        };
        tokio::spawn(task.run(received));
        let (identity, lease) = (identity.into(), lease.into());
        Ok(Self { identity, lease, retry_period, time_to_stop, clock, status: receiver, orders })
    }

    /// The `holderIdentity` of this process.
    pub fn identity(&self) -> &str {
        &self.identity
    }

    /// Whether this process leads now. Right even when the elector's task was not polled for long, or the machine was suspended (on Linux):
    /// a leadership that was not renewed in time is over.
    pub fn is_leader(&self) -> bool {
        self.status.borrow().is_leading(&self.clock)
    }

    /// Whether work of the leader may go on: while it leads, and for the time to stop after that.
    pub(super) fn may_work(&self) -> bool {
        let work_until = self.status.borrow().work_until;
        work_until.is_some_and(|until| self.clock.now() < until)
    }

    /// What the elector knows now.
    pub fn state(&self) -> State {
        self.status.borrow().state.clone()
    }

    /// Completes when the state is not `known` any more, with the new one. A state that is left again at once may be skipped.
    pub async fn changed(&self, known: &State) -> State {
        let mut status = self.status.clone();
        match status.wait_for(|status| status.state != *known).await {
            Ok(status) => status.state.clone(),
            Err(_) => State::Stopped,
        }
    }

    /// Waits until this process leads.
    ///
    /// # Errors
    ///
    /// The elector was stopped.
    pub async fn wait_for_leadership(&self) -> Result<(), Stopped> {
        let mut status = self.status.clone();
        let led =
            status.wait_for(|status| status.is_leading(&self.clock) || status.state == State::Stopped).await;
        match led {
            Ok(status) if status.state == State::Leading => Ok(()),
            _ => Err(Stopped { lease: Arc::clone(&self.lease) }),
        }
    }

    /// Completes when this process does not lead, at once if it does not lead now. For
    /// [`graceful_shutdown_on`](kube_runtime::Controller::graceful_shutdown_on): the rest of the lease duration is left to stop.
    pub fn lost_leadership(&self) -> impl Future<Output = ()> + Send + Sync + 'static + use<> {
        let elector = self.clone(); // it has to go on
        async move {
            elector.leadership_end().await;
        }
    }

    /// Waits until this process does not lead, and returns since when in tokio's time: the deadline that passed, or now after a release.
    pub(super) async fn leadership_end(&self) -> Instant {
        let mut status = self.status.clone();
        let mut last = self.clock.now();
        let ended = loop {
            let current = status.borrow_and_update().deadline;
            let now = self.clock.now();
            let Some(deadline) = current.filter(|deadline| now < *deadline) else {
                break current.unwrap_or(last).min(now);
            };
            last = deadline;
            // A renewal moves the deadline without a notification.
            tokio::select! {
                changed = status.changed() => if changed.is_err() { break last.min(self.clock.now()) },
                () = self.clock.sleep_until(deadline) => {}
            }
        };
        self.clock.in_tokio_time(ended)
    }

    /// How long work may go on after the leadership ended without a release, before another process may lead.
    pub(super) fn time_to_stop(&self) -> Duration {
        self.time_to_stop
    }

    /// Stops, and gives the Lease up if this process holds it. Returns when the server has confirmed that, or after the request timeout
    /// (half of the renew deadline). Call it when the work of the leader has ended: another candidate may lead at once.
    pub async fn release(&self) {
        let _stopped_already = self.orders.send(Order::Release);
        let mut status = self.status.clone();
        drop(status.wait_for(|status| status.state == State::Stopped).await);
    }

    /// Stops without giving the Lease up: another candidate leads after its expiry, up to [`lease_duration`](Config::lease_duration) later.
    /// For work that could not be stopped and may go on, such as that of a thread. Does not wait; [`state`](Self::state) is
    /// [`State::Stopped`] soon. Does nothing after a [`release`](Self::release).
    pub fn let_expire(&self) {
        let _stopped_already = self.orders.send(Order::LetExpire);
    }

    /// Gives the Lease up if this process holds it, so that another candidate can lead, and campaigns again after `wait` and enough time
    /// for others to be first. The leadership has ended when it returns.
    pub(super) async fn stand_aside(&self, wait: Duration) {
        let wait = wait.saturating_add(self.retry_period * 2); // in which each of the others tries
        let _stopped_already = self.orders.send(Order::StandAside(wait));
        self.leadership_end().await;
    }

    /// `NAMESPACE/NAME` of the Lease.
    pub(super) fn lease(&self) -> &str {
        &self.lease
    }
}

impl Status {
    fn is_leading(&self, clock: &Clock) -> bool {
        self.deadline.is_some_and(|deadline| clock.now() < deadline)
    }
}

struct Task {
    api: Api<Lease>,
    request_timeout: Duration,
    renew_deadline: Duration,
    time_to_stop: Duration,
    clock: Clock,
    machine: Machine,
    /// Why the last request failed.
    failure: Option<String>,
    /// Whether the last request failed.
    failing: bool,
    metrics: ElectionMetrics,
    name: String,
    lease: String,
    status: watch::Sender<Status>,
}

impl Task {
    async fn run(mut self, mut orders: mpsc::UnboundedReceiver<Order>) {
        let mut cluster = self.api.clone().into_client().cluster_change();
        let mut order = self.campaign(&mut orders, &mut cluster).await;
        while let Order::StandAside(wait) = order {
            self.give_up().await;
            self.machine.campaign_again();
            order = tokio::select! {
                order = next_order(&mut orders) => order,
                () = sleep(wait) => self.campaign(&mut orders, &mut cluster).await,
            };
        }
        match order {
            Order::LetExpire => self.metrics.leads(false),
            Order::Release | Order::StandAside(_) => self.give_up().await,
        }
        self.status.send_modify(|status| {
            *status = Status { state: State::Stopped, deadline: None, ..status.clone() };
        });
    }

    /// Acquires the Lease and renews it, until there is an order.
    async fn campaign(
        &mut self,
        orders: &mut mpsc::UnboundedReceiver<Order>,
        cluster: &mut ClusterChange,
    ) -> Order {
        loop {
            let began = self.clock.now();
            let order = tokio::select! {
                biased;
                order = next_order(orders) => Some(order),
                () = cluster.next() => {
                    self.in_another_cluster();
                    continue;
                }
                () = self.attempt() => None,
            };
            if let Some(order) = order {
                self.machine.abandon();
                return order;
            }
            self.publish(None);
            let next = self.machine.next_attempt(began);
            tokio::select! {
                biased;
                order = next_order(orders) => return order,
                () = cluster.next() => self.in_another_cluster(),
                () = self.wait_until(next) => {}
            }
        }
    }

    /// Whoever leads there may do so already, so no work may go on.
    fn in_another_cluster(&mut self) {
        self.machine.another_cluster();
        self.publish(Some("the client leads to another cluster"));
        self.status.send_modify(|status| status.work_until = None);
    }

    async fn give_up(&mut self) {
        let request = self.machine.release(time::now());
        self.publish(Some("this process gave it up"));
        if let Some(request) = request
            && timeout(self.request_timeout, self.exchange(request)).await.is_err()
        {
            self.machine.abandon(); // it is not known what the server has
        }
    }

    /// One attempt to acquire or renew the Lease. It ends at the renew deadline at the latest.
    async fn attempt(&mut self) {
        let deadline = self.machine.deadline();
        let request = self.machine.attempt(time::now());
        if deadline.is_some() && request == Request::Read {
            self.metrics.slow_path();
        }
        match deadline {
            None => self.exchange(request).await,
            Some(deadline) => {
                let clock = self.clock.clone();
                if clock.timeout_at(deadline, self.exchange(request)).await.is_err() {
                    self.machine.abandon();
                }
            }
        }
        self.machine.expire(self.clock.now());
    }

    /// Sends `request`, and the requests that follow from the responses.
    async fn exchange(&mut self, request: Request) {
        let mut next = Some(request);
        while let Some(request) = next {
            let (sent, response) = self.send(&request).await;
            next = self.machine.respond(&request, response, sent, self.clock.now(), time::now());
        }
    }

    /// Waits for the next attempt, and publishes meanwhile if the leadership ends.
    async fn wait_until(&mut self, next: Instant) {
        if let Some(deadline) = self.machine.deadline().filter(|deadline| *deadline < next) {
            self.clock.sleep_until(deadline).await;
            self.machine.expire(self.clock.now());
            self.publish(None);
        }
        self.clock.sleep_until(next).await;
    }

    async fn send(&mut self, request: &Request) -> (Instant, Response) {
        let sent = self.clock.now();
        let parameters = PostParams::default();
        let call = async {
            match request {
                Request::Read => self.api.get(&self.name).await,
                Request::Create(lease) => self.api.create(&parameters, lease).await,
                Request::Replace(lease) => self.api.replace(&self.name, &parameters, lease).await,
            }
        };
        let mut failure = None;
        let response = match timeout(self.request_timeout, call).await {
            Ok(Ok(lease)) => Response::Lease(Box::new(lease)),
            Ok(Err(error)) if error.is_not_found() && !matches!(request, Request::Create(_)) => {
                failure = Some("the Lease was deleted".to_owned());
                Response::NotFound
            }
            Ok(Err(error)) if error.is_conflict() || error.is_already_exists() => Response::Conflict,
            Ok(Err(error)) => {
                let error = ErrorChain(&error).to_string();
                tracing::warn!(lease = self.lease, error, "leader election: a request failed");
                failure = Some(error);
                Response::Failed
            }
            Err(_) => {
                let timeout = self.request_timeout;
                tracing::warn!(
                    lease = self.lease,
                    ?timeout,
                    "leader election: the server did not respond in time"
                );
                failure = Some(format!("the server did not respond within {timeout:?}"));
                Response::Failed
            }
        };
        self.failure = failure;
        let failed = matches!(response, Response::Failed);
        if std::mem::replace(&mut self.failing, failed) && !failed {
            tracing::info!(lease = self.lease, "leader election: requests succeed again");
        }
        (sent, response)
    }

    /// Shows the machine's state to the handles. A renewal in time wakes nobody. `reason` is that of a lost leadership, if it is known.
    fn publish(&self, reason: Option<&str>) {
        let deadline = self.machine.deadline();
        self.metrics.leads(deadline.is_some());
        let state = match deadline {
            Some(_) => State::Leading,
            None => State::Standby { holder: self.machine.holder().map(str::to_owned) },
        };
        self.status.send_if_modified(|status| {
            let transition = status.state != state;
            if transition {
                self.log(&status.state, &state, reason);
            }
            // A renewal that was confirmed just after the deadline: some have seen the end of the leadership, and wait for it to begin.
            let resumed = status.deadline.is_some_and(|deadline| deadline <= self.clock.now());
            let work_until =
                deadline.map_or(status.work_until, |deadline| Some(deadline + self.time_to_stop));
            *status = Status { state, deadline, work_until };
            transition || resumed
        });
    }

    fn log(&self, from: &State, to: &State, reason: Option<&str>) {
        let lease = self.lease.as_str();
        match (from, to) {
            (State::Leading, State::Standby { holder }) => match reason {
                Some(reason) => {
                    tracing::info!(lease, reason, "leader election: this process does not lead any more")
                }
                None => {
                    let reason = self.loss(holder.as_deref());
                    tracing::warn!(lease, reason, "leader election: this process has lost the leadership");
                }
            },
            (_, State::Leading) => tracing::info!(lease, "leader election: this process leads"),
            (_, State::Standby { holder: Some(leader) }) => {
                tracing::info!(lease, leader, "leader election: another process leads");
            }
            _ => tracing::info!(lease, "leader election: no process leads"),
        }
    }

    /// Why the leadership was lost.
    fn loss(&self, holder: Option<&str>) -> String {
        match (holder.filter(|holder| *holder != self.machine.identity()), &self.failure) {
            (Some(other), _) => format!("{other} holds the Lease"),
            (None, Some(failure)) => {
                format!("the Lease was not renewed within {:?}: {failure}", self.renew_deadline)
            }
            (None, None) => {
                format!(
                    "the Lease was not renewed within {:?}: this process did not run, or was slow",
                    self.renew_deadline
                )
            }
        }
    }
}

/// The next order: to release when all handles are dropped.
async fn next_order(orders: &mut mpsc::UnboundedReceiver<Order>) -> Order {
    orders.recv().await.unwrap_or(Order::Release)
}
