//! Runs a fleet: takes the events of providers, and performs what the units of its clusters want. One task; whatever takes time with a
//! cluster is a task of its own, so that no cluster waits for another.

use super::{
    claims::Change,
    cluster::Cluster,
    error::ClusterError,
    event::{ClusterSpec, Clusters},
    fleet::Fleet,
    identities::Identities,
    member::{CleaningUp, Member, Running, TaskHandle},
    metrics::{FleetMetrics, Summary},
    name::ClusterName,
    options::{ClusterOptions, LONGEST},
    places::Places,
    sources::{Provided, Sources},
    tasks::{
        Exchanged, Identified, NotAnswered, ask, clean_up_old, connect, identify, run_in_spite_of_panics,
    },
    unit::{Effect, Fault, Unit},
    work::{CleanUp, CleanedUp, MakeWork},
};
use futures::FutureExt;
use kube_client::Client;
use kube_core::panic::panic_message;
use kube_runtime::{controller::Workers, reflector::Dictionaries};
use std::{
    collections::{BTreeMap, VecDeque},
    panic::AssertUnwindSafe,
    time::Duration,
};
use tokio::{
    task::JoinSet,
    time::{Instant, MissedTickBehavior, interval, sleep_until},
};
use tokio_util::sync::CancellationToken;

/// How often the controllers of all clusters are looked at, and timers of units are.
const TICK: Duration = Duration::from_secs(1);

/// What a fleet is run with.
pub(crate) struct FleetRun {
    pub(crate) hub: Client,
    pub(crate) providers: Vec<Clusters>,
    pub(crate) make: Vec<MakeWork>,
    pub(crate) clean_up: Option<CleanUp>,
    pub(crate) options: ClusterOptions,
    pub(crate) fleet: Fleet,
    /// What compact caches of the clusters share.
    pub(crate) dictionaries: Dictionaries,
    /// How long the clusters may take to stop at the end of the program.
    pub(crate) stop_limit: Duration,
}

/// Runs until the token is cancelled, and then stops all clusters. Returns when their controllers have ended.
pub(crate) async fn supervise(run: FleetRun, stop: CancellationToken) {
    let FleetRun { hub, providers, make, clean_up, options, fleet, dictionaries, stop_limit } = run;
    let mut sources = Sources::new(providers, fleet.clone());
    let mut supervisor = Supervisor {
        places: Places::new(options.start_concurrency),
        workers: Workers::new(options.concurrency, options.concurrency_per_cluster)
            .with_reserve(options.concurrency / 2),
        options,
        make,
        clean_up,
        fleet,
        identities: Identities::default(),
        members: BTreeMap::new(),
        dictionaries: dictionaries.clone(),
        tasks: JoinSet::new(),
        attempts: 0,
        metrics: FleetMetrics::new(),
        is_late: false,
    };
    let renewing = tokio::spawn(async move {
        run_in_spite_of_panics("the renewal of dictionaries", || dictionaries.keep_renewed()).await;
    });
    let mut renewing = Some(TaskHandle(renewing.abort_handle()));
    let mut hub = Box::pin(identify(hub)).fuse();
    let mut tick = interval(TICK);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut stopping = None;
    while !(stopping.is_some() && supervisor.members.is_empty()) {
        tokio::select! {
            () = stop.cancelled(), if stopping.is_none() => {
                stopping = Some(Instant::now() + stop_limit.min(LONGEST));
                sources = Sources::new(Vec::new(), supervisor.fleet.clone());
                drop(renewing.take()); // what the others keep goes as well
                supervisor.stop_all(stop_limit);
            }
            () = sleep_until(stopping.unwrap_or_else(Instant::now)), if stopping.is_some() && !supervisor.is_late => {
                supervisor.abort_clean_ups();
            }
            Some(report) = supervisor.tasks.join_next(), if !supervisor.tasks.is_empty() => {
                if let Ok((name, report)) = report {
                    supervisor.reported(&name, report);
                }
            }
            uid = &mut hub => supervisor.hub_is(Some(uid)),
            changes = sources.next(), if !sources.is_empty() => {
                changes.into_iter().for_each(|change| supervisor.change(change));
            }
            _ = tick.tick() => supervisor.look(sources.look()),
        }
        supervisor.retry_freed();
        supervisor.fill_places();
    }
}

pub(super) struct Supervisor {
    pub(super) options: ClusterOptions,
    make: Vec<MakeWork>,
    /// What the program does on a cluster that was removed.
    clean_up: Option<CleanUp>,
    fleet: Fleet,
    pub(super) identities: Identities,
    places: Places,
    workers: Workers,
    pub(super) members: BTreeMap<ClusterName, Member>,
    /// What their compact caches share.
    dictionaries: Dictionaries,
    pub(super) tasks: JoinSet<(ClusterName, Report)>,
    pub(super) attempts: u64,
    metrics: FleetMetrics,
    /// Whether the time to stop in is over.
    is_late: bool,
}

/// The result of a task.
pub(super) enum Report {
    Connected {
        attempt: u64,
        result: Result<Identified, Fault>,
    },
    /// The present client has the configuration of a new one, or cannot have it.
    Adopted {
        attempt: u64,
        client: Client,
        result: Result<Exchanged, String>,
    },
    /// Who is at the address that was announced for a running cluster.
    Asked {
        attempt: u64,
        /// How long it had waited.
        wait: Duration,
        result: Result<Option<String>, Fault>,
    },
    Exchanged {
        cluster: Cluster,
        result: Result<Exchanged, String>,
    },
    /// A controller has ended.
    Ended(Result<(), String>),
    CleanedUp {
        cluster: Cluster,
        result: Result<CleanedUp, String>,
    },
}

impl Supervisor {
    fn change(&mut self, change: Change) {
        let now = Instant::now();
        let (name, effects) = match change {
            Change::Remove(name) => {
                let Some(member) = self.members.get_mut(&name) else { return };
                self.identities.waits_no_more(&name);
                let effects = member.unit.removed(now);
                (name, effects)
            }
            Change::Upsert(spec) => (spec.name.clone(), self.upsert(*spec, now)),
        };
        self.perform(&name, effects);
    }

    fn upsert(&mut self, spec: ClusterSpec, now: Instant) -> Vec<Effect> {
        let Some(member) = self.members.get_mut(&spec.name) else {
            let (unit, effects) = Unit::new(self.options.grace_period, now);
            self.members.insert(spec.name.clone(), Member::new(unit, spec, self.dictionaries.clone()));
            return effects;
        };
        if !spec.is_reached_as(&member.spec) {
            self.identities.waits_no_more(&spec.name);
        }
        member.announced(spec, now)
    }

    fn stop_all(&mut self, limit: Duration) {
        self.clean_up = None; // the end of the program is not that of the clusters
        let now = Instant::now();
        let names: Vec<ClusterName> = self.members.keys().cloned().collect();
        for name in names {
            let Some(member) = self.members.get_mut(&name) else { continue };
            member.withdraw_clean_up();
            member.unit.limit_grace_period(limit, now);
            let mut effects = member.unit.removed(now);
            if std::mem::take(&mut member.waits_to_clean_up) {
                effects.extend(member.unit.cleaned_up(now));
            }
            self.perform(&name, effects);
        }
    }

    /// What cleans up at the end of the program has had its time.
    fn abort_clean_ups(&mut self) {
        self.is_late = true;
        let cleaning_up = self.members.iter().filter(|(_, member)| member.cleaning_up.is_some());
        let names: Vec<ClusterName> = cleaning_up.map(|(name, _)| name.clone()).collect();
        for name in names {
            let Some(member) = self.members.get_mut(&name) else { continue };
            tracing::error!(cluster = %name, "the program ends before it has cleaned up on a cluster that was removed");
            let effects = member.unit.cleaned_up(Instant::now());
            self.perform(&name, effects);
        }
    }

    /// Clusters for which there is a place now start.
    fn fill_places(&mut self) {
        while let Some(name) = self.places.next() {
            match self.members.get_mut(&name) {
                Some(member) => {
                    let effects = member.unit.placed(Instant::now());
                    self.perform(&name, effects);
                }
                None => self.places.leave(&name),
            }
        }
    }

    /// Looks at all clusters: O(number of watches).
    fn look(&mut self, mut provided: Provided) {
        let now = Instant::now();
        let names: Vec<ClusterName> = self.members.keys().cloned().collect();
        for name in names {
            let Some(member) = self.members.get_mut(&name) else { continue };
            member.unusable = provided.outdated.remove(&name);
            let look = if member.unit.runs() { member.look() } else { None };
            if look.as_ref().is_some_and(|look| look.synced) {
                member.has_listed();
            }
            let not_answered = member.cleaning_up.as_ref().and_then(|it| it.not_answered.lock().clone());
            member.unit.successor_fails(not_answered, now);
            let mut effects = look.map(|look| member.unit.looked_at(look, now)).unwrap_or_default();
            effects.extend(member.unit.timer(now));
            self.perform(&name, effects);
        }
        let states = self.members.values().map(|member| {
            let (state, since, _) = member.unit.state();
            (state, since, member.outdated().is_some())
        });
        let summary = Summary::of(states, now);
        self.metrics.record(&summary, provided.failing, provided.unusable);
    }

    fn hub_is(&mut self, uid: Option<String>) {
        let Some(name) = self.identities.hub_is(uid) else { return };
        let Some(member) = self.members.get_mut(&name) else { return };
        let effects = member.refused(&ClusterError::Hub(name.clone()), Instant::now());
        self.perform(&name, effects);
    }

    /// Names whose cluster another name had, and has no more.
    fn retry_freed(&mut self) {
        for name in self.identities.take_freed() {
            let Some(member) = self.members.get_mut(&name) else { continue };
            let effects = member.unit.freed(Instant::now());
            self.perform(&name, effects);
        }
    }

    fn reported(&mut self, name: &ClusterName, report: Report) {
        let now = Instant::now();
        let Some(member) = self.members.get_mut(name) else { return };
        let effects = match report {
            // Of an earlier life of the cluster, or with an earlier configuration.
            Report::Connected { attempt, .. }
            | Report::Adopted { attempt, .. }
            | Report::Asked { attempt, .. }
                if attempt != member.attempt =>
            {
                return;
            }
            Report::Exchanged { cluster, .. } if !member.is_of(&cluster) => return,
            Report::Connected { result, .. } => self.connected(name, result),
            Report::Adopted { client, result, .. } => member.adopted(client, result, now),
            Report::Asked { wait, result, .. } => self.asked(name, wait, result),
            Report::Exchanged { result, .. } => member.exchanged(result, now),
            Report::CleanedUp { cluster, .. } if !member.is_of(&cluster) => return,
            Report::CleanedUp { result: Ok(CleanedUp::Withdrawn), .. } => member.unit.clean_up_withdrawn(now),
            Report::CleanedUp { result, .. } => {
                if let Err(error) = result {
                    tracing::error!(cluster = %name, error, "the program did not clean up on a cluster that was removed");
                }
                member.unit.cleaned_up(now)
            }
            Report::Ended(result) => member.ended(result, now),
        };
        self.perform(name, effects);
    }

    /// Performs the effects of a unit, and those to which they lead at once.
    pub(super) fn perform(&mut self, name: &ClusterName, effects: Vec<Effect>) {
        let mut effects = VecDeque::from(effects);
        while let Some(effect) = effects.pop_front() {
            effects.extend(self.perform_one(name, effect));
        }
        let Some(member) = self.members.get_mut(name) else { return };
        if member.has_let_go() {
            self.identities.release(name);
        } else if member.has_moved_away() {
            self.identities.has_moved(name);
        }
        let state = member.unit.state();
        if self.fleet.show(name, member.cluster.as_ref(), state, member.outdated()) {
            state.0.log(name, state.2);
        }
    }

    fn perform_one(&mut self, name: &ClusterName, effect: Effect) -> Vec<Effect> {
        let Some(member) = self.members.get_mut(name) else { return Vec::new() };
        match effect {
            Effect::AskPlace(attempt) => self.places.ask(name.clone(), attempt),
            Effect::LeavePlace | Effect::LendPlace => self.places.leave(name),
            Effect::Connect => {
                self.attempts += 1;
                member.attempt = self.attempts;
                let attempt = member.attempt;
                let name = name.clone();
                let connecting = connect(name.clone(), member.spec.config.clone(), self.options.clone());
                let connecting =
                    async move { (name, Report::Connected { attempt, result: connecting.await }) };
                member.connecting = Some(TaskHandle(self.tasks.spawn(connecting))); // an earlier one is aborted
            }
            Effect::Start => return self.start(name),
            Effect::Exchange => self.exchange(name),
            Effect::Stop => {
                if let Some(running) = &member.running {
                    running.stop.cancel();
                }
                if member.has_stopped() {
                    return member.stopped(Instant::now());
                }
            }
            Effect::Abort => {
                tracing::warn!(cluster = %name, "its reconciles did not stop within the grace period and are aborted");
                member.running.as_ref().inspect(|running| running.abort());
            }
            Effect::FindBlocked => {
                if let Some(why) = member.running.as_ref().and_then(Running::blocked) {
                    member.unit.blocked(why, Instant::now());
                }
            }
            Effect::CleanUp => return self.clean_up(name),
            Effect::WithdrawCleanUp => member.withdraw_clean_up(),
            Effect::Forget => {
                member.forget();
                self.identities.forget(name);
                if member.unit.has_left() {
                    self.members.remove(name);
                    tracing::info!(cluster = %name, "it has left");
                    self.fleet.forget(name); // one that starts anew is in the fleet all the time
                }
            }
        }
        Vec::new()
    }

    fn start(&mut self, name: &ClusterName) -> Vec<Effect> {
        let Some(member) = self.members.get_mut(name) else { return Vec::new() };
        let Some(cluster) = &member.cluster else { return Vec::new() };
        let lane = self.workers.lane(&name.to_string());
        match Running::start(&self.make, cluster, &lane) {
            Ok((running, runs)) => {
                member.running = Some(running);
                for run in runs {
                    let name = name.clone();
                    self.tasks.spawn(async move { (name, Report::Ended(run.await)) });
                }
                Vec::new()
            }
            Err(why) => member.unit.broke(why, Instant::now()),
        }
    }

    fn clean_up(&mut self, name: &ClusterName) -> Vec<Effect> {
        self.members.get_mut(name).into_iter().for_each(Member::recall_before);
        let heir = self.clean_up.as_ref().and_then(|_| self.heir(name));
        let Some(member) = self.members.get_mut(name) else { return Vec::new() };
        (member.connecting, member.attempt) = (None, 0); // its result has no effect any more
        member.shares_no_more();
        let (Some(clean_up), Some(cluster)) = (&self.clean_up, &member.cluster) else {
            return member.unit.cleaned_up(Instant::now());
        };
        if member.is_being_exchanged() {
            member.waits_to_clean_up = true;
            return Vec::new();
        }
        if let Some(heir) = heir {
            tracing::info!(cluster = %name, %heir, "it is not cleaned up on: it has another name from now on");
            return member.unit.cleaned_up(Instant::now());
        }
        let (withdrawn, not_answered) = (CancellationToken::new(), NotAnswered::default());
        let mut cleaning_up = clean_up(cluster.clone(), withdrawn.clone());
        if member.unit.is_replaced() {
            let (config, options) = (member.spec.config.clone(), self.options.clone());
            let successor = ask(name.clone(), config, options, NotAnswered::clone(&not_answered));
            let uid = self.identities.uid_of(name);
            cleaning_up = clean_up_old(uid, successor, withdrawn.clone(), cleaning_up).boxed();
        }
        let (name, cluster) = (name.clone(), cluster.clone());
        let cleaning_up = AssertUnwindSafe(cleaning_up).catch_unwind();
        let cleaning_up = cleaning_up.map(|result| {
            result.unwrap_or_else(|panic| Err(format!("it panicked: {}", panic_message(&*panic))))
        });
        let cleaning_up = async move { (name, Report::CleanedUp { cluster, result: cleaning_up.await }) };
        let _task = TaskHandle(self.tasks.spawn(cleaning_up));
        member.cleaning_up = Some(CleaningUp { _task, withdrawn, not_answered });
        Vec::new()
    }
}

#[cfg(test)]
#[path = "supervisor_tests.rs"]
mod tests;
