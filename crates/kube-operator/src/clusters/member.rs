//! A cluster of the supervisor: its unit, and what runs for it.

use super::{
    cluster::Cluster,
    error::ClusterError,
    event::ClusterSpec,
    tasks::{Exchanged, NotAnswered, shortened},
    unit::{Effect, Fault, Look, Unit},
    work::{MakeWork, Work, WorkResult},
};
use futures::{
    FutureExt,
    future::{AbortHandle, Abortable},
};
use kube_client::{Client, error::ErrorChain};
use kube_core::panic::panic_message;
use kube_runtime::{controller::WorkerLane, reflector::Dictionaries};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};
use tokio::time::Instant;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// Why a cluster that is asked who it is is outdated.
const NOT_USED_YET: &str = "its new address is not used yet";

/// One cluster.
pub(super) struct Member {
    pub(super) unit: Unit,
    /// As it was announced last.
    pub(super) spec: ClusterSpec,
    /// Once it has answered.
    pub(super) cluster: Option<Cluster>,
    /// The cluster as it was, while it starts anew with another client: where that led, and where it is cleaned up if it is removed.
    before: Option<Cluster>,
    pub(super) running: Option<Running>,
    /// The attempt to connect whose result counts.
    pub(super) attempt: u64,
    pub(super) connecting: Option<TaskHandle>,
    pub(super) cleaning_up: Option<CleaningUp>,
    /// What is to clean up on it waits for the end of an exchange, which decides where that is.
    pub(super) waits_to_clean_up: bool,
    /// Its client leads to the cluster of another name, or to the hub.
    is_refused: bool,
    /// It is to have another client.
    is_renewed: bool,
    /// Its cluster is free for another name once nothing runs there any more.
    lets_go: bool,
    /// Whether its configuration is being exchanged.
    pub(super) exchange: Exchange,
    /// What it is being exchanged for leads to another cluster.
    pub(super) has_moved: bool,
    /// Its client leads there, since the last exchange.
    is_exchanged: bool,
    /// Why its controllers go on with the configuration before the one that was announced last.
    outdated: Option<String>,
    /// Why what is announced now cannot be used.
    pub(super) unusable: Option<String>,
    /// What compact caches of the fleet share.
    dictionaries: Dictionaries,
    /// There may be text of the objects of the cluster to which its client led before.
    has_old_text: bool,
}

/// One exchange runs at a time, so that the newest credentials are the last.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Exchange {
    #[default]
    None,
    /// Another address was announced: who is there? Another announcement aborts this.
    Asking,
    Running,
    /// Others were announced meanwhile.
    RunningAndWanted,
    /// The announced address leads to the cluster of another name, or to the hub. It keeps the one that it has.
    Refused,
}

impl Member {
    pub(super) fn new(unit: Unit, spec: ClusterSpec, dictionaries: Dictionaries) -> Self {
        Self {
            unit,
            spec,
            cluster: None,
            before: None,
            running: None,
            attempt: 0,
            connecting: None,
            cleaning_up: None,
            waits_to_clean_up: false,
            is_refused: false,
            is_renewed: false,
            lets_go: false,
            exchange: Exchange::None,
            has_moved: false,
            is_exchanged: false,
            outdated: None,
            unusable: None,
            dictionaries,
            has_old_text: false,
        }
    }

    /// Whether it is in this life of the cluster.
    pub(super) fn is_of(&self, cluster: &Cluster) -> bool {
        self.cluster.as_ref().is_some_and(|present| present.is(cluster))
    }

    /// It was announced again.
    pub(super) fn announced(&mut self, spec: ClusterSpec, now: Instant) -> Vec<Effect> {
        let is_leaving = self.unit.is_leaving();
        if let Some(cluster) = &self.cluster
            && !is_leaving
        {
            cluster.set_labels(spec.labels.clone());
        }
        let before = std::mem::replace(&mut self.spec, spec);
        if self.spec.config.default_namespace != before.config.default_namespace && !is_leaving {
            return self.renew("its default namespace is another one now", now);
        }
        let is_waiting = matches!(self.exchange, Exchange::Asking | Exchange::Refused);
        match self.spec.is_reached_as(&before) {
            true if is_waiting && self.unit.runs() => Vec::new(),
            true if self.unit.is_replaced() => Vec::new(), // it is asked who is there
            _ if is_leaving && self.leads_elsewhere() => self.unit.announced_elsewhere(now),
            true => self.unit.repeated(now),
            false => self.unit.announced(now),
        }
    }

    /// Whether what was announced leads to another address than the client that it has, or had before it got none.
    pub(super) fn leads_elsewhere(&self) -> bool {
        let cluster = self.cluster.as_ref().or(self.before.as_ref());
        cluster.is_some_and(|cluster| !cluster.client().has_place_of(&self.spec.config))
    }

    /// A controller has ended.
    pub(super) fn ended(&mut self, result: Result<(), String>, now: Instant) -> Vec<Effect> {
        if let Some(running) = &mut self.running {
            running.left -= 1;
        }
        match result {
            Err(why) if self.unit.runs() => self.unit.broke(why, now),
            Ok(()) if self.unit.runs() => {
                self.unit.broke("a controller ended although it should run".into(), now)
            }
            _ if self.has_stopped() => self.stopped(now),
            _ => Vec::new(),
        }
    }

    /// The end of an exchange.
    pub(super) fn exchanged(&mut self, result: Result<Exchanged, String>, now: Instant) -> Vec<Effect> {
        let again = std::mem::take(&mut self.exchange) == Exchange::RunningAndWanted;
        let is_another = matches!(result, Ok(Exchanged { is_another: true }));
        let has_moved = std::mem::take(&mut self.has_moved) || is_another;
        if !again {
            self.outdated = None;
        }
        self.has_old_text |= has_moved;
        self.is_exchanged = result.is_ok();
        let mut effects = match result {
            Ok(_) if has_moved => self.unit.moved(now),
            Ok(_) => Vec::new(),
            // Its identity is that of the new one.
            Err(error) if has_moved && self.unit.runs() => self.unit.broke(error, now),
            Err(error) if has_moved => {
                tracing::error!(cluster = %self.spec.name, error, "its new address cannot be used");
                self.take_cluster(); // its client leads to what may have another name
                Vec::new()
            }
            Err(error) => {
                let cluster = &self.spec.name;
                tracing::error!(%cluster, error, "the announced credentials cannot be used; it keeps those that it has");
                self.outdated = Some(error);
                Vec::new()
            }
        };
        // One that leaves uses what was announced last anyway, if it comes back.
        if again && !self.unit.is_leaving() {
            effects.extend(self.unit.announced(now));
        }
        if std::mem::take(&mut self.waits_to_clean_up) {
            effects.extend(self.unit.clean_up_withdrawn(now));
        }
        effects
    }

    /// Whether nothing is sent to the cluster that it had before an exchange any more; once.
    pub(super) fn has_moved_away(&mut self) -> bool {
        let is_exchanged = std::mem::take(&mut self.is_exchanged);
        !self.is_being_exchanged() && (is_exchanged || self.has_stopped())
    }

    /// Whether its client is about to lead elsewhere.
    pub(super) fn is_being_exchanged(&self) -> bool {
        matches!(self.exchange, Exchange::Running | Exchange::RunningAndWanted)
    }

    /// It has said who it is.
    pub(super) fn answered(&mut self, client: Client) {
        let (name, labels) = (self.spec.name.clone(), self.spec.labels.clone());
        let dictionaries = &self.dictionaries;
        let cluster = || Cluster::sharing(name, client, labels, dictionaries.contributor());
        self.cluster.get_or_insert_with(cluster);
        self.before = None;
        if self.exchange == Exchange::Refused {
            self.exchange = Exchange::None;
        }
        self.outdated = None;
    }

    /// Why its controllers go on with the configuration before the one that was announced last, if they do.
    pub(super) fn outdated(&self) -> Option<&str> {
        let outdated = self.outdated.as_deref().filter(|_| self.unit.runs());
        outdated.or(self.unusable.as_deref().filter(|_| !self.unit.is_leaving()))
    }

    /// Its new address does not say which cluster is there. Returns whether that is new.
    pub(super) fn is_asked_again(&mut self, fault: &Fault) -> bool {
        let why = format!("{NOT_USED_YET}: {}", fault.reason());
        let before = self.outdated.replace(why);
        before.is_none_or(|before| !before.starts_with(NOT_USED_YET))
    }

    /// What all its controllers show together.
    pub(super) fn look(&self) -> Option<Look> {
        let looks: Vec<Look> = self.running.as_ref()?.looks.iter().map(|look| look()).collect();
        Some(Look {
            synced: looks.iter().all(|look| look.synced),
            fault: looks.into_iter().find_map(|look| look.fault),
        })
    }

    /// Nothing is left of its controllers.
    pub(super) fn has_stopped(&self) -> bool {
        self.running.as_ref().is_none_or(|running| running.left == 0)
    }

    /// The announced address leads to the cluster of another name, or to the hub. What was announced before stays, for its removal.
    pub(super) fn refused_elsewhere(&mut self, error: &ClusterError, now: Instant) -> Vec<Effect> {
        if self.unit.runs() {
            self.exchange = Exchange::Refused;
            let cluster = &self.spec.name;
            tracing::error!(%cluster, %error, "its new address is not used; it keeps the old one");
            self.outdated = Some(error.to_string());
            return Vec::new();
        }
        self.unit.refused(error.to_string(), now)
    }

    /// The cluster that it leads to is that of another name, or the hub.
    pub(super) fn refused(&mut self, error: &ClusterError, now: Instant) -> Vec<Effect> {
        if self.cleaning_up.is_some() || self.waits_to_clean_up {
            self.forget();
            return self.unit.cleaned_up(now);
        }
        self.is_refused = true;
        if self.has_stopped() {
            self.forget();
        }
        self.unit.refused(error.to_string(), now)
    }

    /// Another name gets the cluster that it has, and waits for this: each has what the other wants. It stops, and waits then.
    pub(super) fn let_go(&mut self, error: &ClusterError, now: Instant) -> Vec<Effect> {
        self.lets_go = true;
        self.refused(error, now)
    }

    /// Whether its cluster is free for another name now; once.
    pub(super) fn has_let_go(&mut self) -> bool {
        self.has_stopped() && std::mem::take(&mut self.lets_go)
    }

    /// It starts anew with a client of its own, although it is the same cluster.
    fn renew(&mut self, why: &str, now: Instant) -> Vec<Effect> {
        if self.unit.runs() {
            self.is_renewed = true;
            return self.unit.broke(why.to_owned(), now);
        }
        match self.has_stopped() {
            true => self.before = self.take_cluster().or(self.before.take()),
            false => self.is_renewed = true,
        }
        self.unit.announced(now)
    }

    /// What has not begun to clean up does not begin.
    pub(super) fn withdraw_clean_up(&self) {
        self.cleaning_up.iter().for_each(|cleaning_up| cleaning_up.withdrawn.cancel());
    }

    /// Its controllers have stopped. What leads to a cluster that is not its own is dropped, so that the program does not clean up there.
    pub(super) fn stopped(&mut self, now: Instant) -> Vec<Effect> {
        if self.is_refused {
            self.forget();
        } else if self.is_renewed && !self.unit.is_leaving() {
            let before = self.cluster.clone();
            self.forget();
            self.before = before;
        }
        self.unit.stopped(now)
    }

    /// It has no cluster any more; returns it. Nothing of its objects is kept.
    pub(super) fn take_cluster(&mut self) -> Option<Cluster> {
        (self.has_old_text, self.exchange, self.has_moved) = (false, Exchange::None, false);
        let cluster = self.cluster.take()?;
        cluster.contributor().leave();
        Some(cluster)
    }

    /// It leaves before its other client has answered: the one before leads to the same cluster.
    pub(super) fn recall_before(&mut self) {
        self.cluster = self.cluster.take().or(self.before.take());
    }

    /// Its client has the announced configuration, for controllers that are about to start, or cannot have it.
    pub(super) fn adopted(
        &mut self,
        client: Client,
        result: Result<Exchanged, String>,
        now: Instant,
    ) -> Vec<Effect> {
        match result {
            Ok(Exchanged { is_another }) => self.has_old_text |= is_another,
            Err(error) => {
                tracing::info!(cluster = %self.spec.name, error, "it gets another client");
                self.take_cluster();
            }
        }
        self.answered(client);
        self.unit.connected(Ok(()), now)
    }

    /// It leaves, and nothing runs on it: caches of others keep no text of it while it is cleaned up on, which may take long.
    pub(super) fn shares_no_more(&self) {
        self.cluster.iter().for_each(|cluster| cluster.contributor().leave());
    }

    /// Its caches have the objects of the cluster to which its client leads: nothing of those of another one is kept.
    pub(super) fn has_listed(&mut self) {
        if std::mem::take(&mut self.has_old_text) {
            self.cluster.iter().for_each(|cluster| cluster.contributor().renew());
        }
    }

    pub(super) fn forget(&mut self) {
        (self.before, self.running, self.connecting) = (None, None, None);
        self.take_cluster();
        (self.cleaning_up, self.waits_to_clean_up, self.outdated) = (None, false, None);
        (self.is_refused, self.is_renewed) = (false, false);
    }
}

/// What cleans up on it.
pub(super) struct CleaningUp {
    pub(super) _task: TaskHandle,
    /// Cancelled, it does not begin if it has not.
    pub(super) withdrawn: CancellationToken,
    /// Why the cluster that has its name now does not answer.
    pub(super) not_answered: NotAnswered,
}

/// A task of the supervisor that is aborted with this.
pub(super) struct TaskHandle(pub(super) tokio::task::AbortHandle);

impl Drop for TaskHandle {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The controllers of a cluster that run or stop.
pub(super) struct Running {
    looks: Vec<Box<dyn Fn() -> Look + Send + Sync>>,
    aborts: Vec<AbortHandle>,
    /// The reconciles of each controller.
    reconciles: Vec<(Arc<str>, TaskTracker)>,
    pub(super) stop: CancellationToken,
    /// How many have not ended.
    pub(super) left: usize,
}

impl Running {
    /// Makes the controllers for a cluster, and the futures that run them, each until its reconciles have ended too. A future is `Err` with
    /// name and reason if its controller failed.
    ///
    /// # Errors
    /// A function of the program panicked.
    pub(super) fn start(
        make: &[MakeWork],
        cluster: &Cluster,
        lane: &WorkerLane,
    ) -> Result<(Self, Vec<impl Future<Output = Result<(), String>> + Send + use<>>), String> {
        let works = catch_unwind(AssertUnwindSafe(|| {
            make.iter().map(|make| make(cluster, lane.clone())).collect::<Vec<Work>>()
        }));
        let works =
            works.map_err(|panic| format!("making its controllers panicked: {}", panic_message(&*panic)))?;
        let stop = CancellationToken::new();
        let (mut looks, mut aborts, mut all, mut runs) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for Work { name, look, run } in works {
            let (abort, registration) = AbortHandle::new_pair();
            let reconciles = TaskTracker::new();
            all.push((Arc::clone(&name), reconciles.clone()));
            let guarded = AssertUnwindSafe(run(stop.clone(), &reconciles)).catch_unwind();
            let run = Abortable::new(guarded, registration);
            let who = Arc::clone(&name);
            let run = async move {
                let result: WorkResult = match run.await {
                    Ok(Ok(result)) => result,
                    Ok(Err(panic)) => Err(format!("it panicked: {}", panic_message(&*panic)).into()),
                    Err(_) => Ok(()), // aborted: it was told to stop before
                };
                reconciles.close();
                reconciles.wait().await; // what blocks its thread goes on after the abort
                result.map_err(|error| shortened(format!("controller {name}: {}", ErrorChain(&*error))))
            };
            // What it holds may panic where it is dropped.
            runs.push(AssertUnwindSafe(run).catch_unwind().map(move |result| {
                result.unwrap_or_else(|panic| {
                    Err(shortened(format!("controller {who}: its end panicked: {}", panic_message(&*panic))))
                })
            }));
            looks.push(look);
            aborts.push(abort);
        }
        let left = runs.len();
        Ok((Self { looks, aborts, reconciles: all, stop, left }, runs))
    }

    pub(super) fn abort(&self) {
        self.aborts.iter().for_each(AbortHandle::abort);
    }

    /// Which reconciles go on although they were aborted, in words, if there are any.
    pub(super) fn blocked(&self) -> Option<String> {
        let blocked = self.reconciles.iter().filter(|(_, reconciles)| !reconciles.is_empty());
        let texts: Vec<String> = blocked.map(|(name, those)| format!("{name} ({})", those.len())).collect();
        (!texts.is_empty()).then(|| {
            let texts = texts.join(", ");
            shortened(format!(
                "reconciles of these controllers do not end although they were aborted: {texts}. They block their threads, and the \
                 cluster waits for them: restart the program"
            ))
        })
    }
}
