//! Runs a fleet: takes the events of providers, and performs what the units of its clusters want. One task; whatever takes time with a
//! cluster is a task of its own, so that no cluster waits for another.

use super::{
    claims::{Change, Claimed, Claims},
    cluster::Cluster,
    error::ClusterError,
    event::{ClusterEvent, ClusterEvents, ClusterSpec, Clusters},
    fleet::Fleet,
    identities::Identities,
    member::{CleaningUp, Exchange, Member, Running, TaskHandle},
    metrics::{FleetMetrics, Summary},
    name::ClusterName,
    options::ClusterOptions,
    places::Places,
    status::ClusterState,
    tasks::{Identified, clean_up_old, connect, exchange, identify},
    unit::{Effect, Fault, Unit},
    work::{CleanUp, MakeWork},
};
use futures::{
    FutureExt, StreamExt,
    stream::{self, SelectAll, select_all},
};
use kube_client::Client;
use kube_core::panic::panic_message;
use kube_runtime::controller::Workers;
use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    panic::AssertUnwindSafe,
    time::Duration,
};
use tokio::{
    task::JoinSet,
    time::{Instant, MissedTickBehavior, interval},
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
}

/// Runs until the token is cancelled, and then stops all clusters. Returns when their controllers have ended.
pub(crate) async fn supervise(run: FleetRun, stop: CancellationToken) {
    let FleetRun { hub, providers, make, clean_up, options, fleet } = run;
    let sources: Vec<String> = providers.iter().map(|provider| provider.source().to_owned()).collect();
    let mut events = all_events(providers);
    let mut supervisor = Supervisor {
        places: Places::new(options.start_concurrency),
        workers: Workers::new(options.concurrency, options.concurrency_per_cluster),
        options,
        make,
        clean_up,
        fleet,
        unsynced: (0..sources.len()).collect(),
        sources,
        claims: Claims::default(),
        identities: Identities::default(),
        members: BTreeMap::new(),
        tasks: JoinSet::new(),
        attempts: 0,
        metrics: FleetMetrics::new(),
    };
    let mut hub = Box::pin(identify(hub)).fuse();
    let mut tick = interval(TICK);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut stopping = false;
    while !(stopping && supervisor.members.is_empty()) {
        tokio::select! {
            () = stop.cancelled(), if !stopping => {
                stopping = true;
                events = SelectAll::new();
                supervisor.stop_all();
            }
            Some(report) = supervisor.tasks.join_next(), if !supervisor.tasks.is_empty() => {
                if let Ok((name, report)) = report {
                    supervisor.reported(&name, report);
                }
            }
            uid = &mut hub => supervisor.hub_is(uid),
            Some((source, event)) = events.next(), if !events.is_empty() => supervisor.provided(source, event),
            _ = tick.tick() => supervisor.look(),
        }
        supervisor.retry_freed();
        supervisor.fill_places();
    }
}

type NumberedEvents = futures::stream::BoxStream<'static, (usize, Result<ClusterEvent, ClusterError>)>;

/// The events of all providers, each with the number of its provider. One that ends has announced what it has, unless it panics.
fn all_events(providers: Vec<Clusters>) -> SelectAll<NumberedEvents> {
    let end = || stream::once(async { Ok(ClusterEvent::InitDone) });
    let numbered = |(source, Clusters { events, .. }): (usize, Clusters)| {
        guarded(events.chain(end()).boxed()).map(move |event| (source, event)).boxed()
    };
    select_all(providers.into_iter().enumerate().map(numbered))
}

fn guarded(events: ClusterEvents) -> ClusterEvents {
    let events = AssertUnwindSafe(events).catch_unwind();
    let panicked = |panic: Box<dyn std::any::Any + Send>| {
        ClusterError::Provider(format!("the provider panicked: {}", panic_message(&*panic)).into())
    };
    events.map(move |event| event.unwrap_or_else(|panic| Err(panicked(panic)))).boxed()
}

struct Supervisor {
    options: ClusterOptions,
    make: Vec<MakeWork>,
    /// What the program does on a cluster that was removed.
    clean_up: Option<CleanUp>,
    fleet: Fleet,
    /// The providers, in words.
    sources: Vec<String>,
    /// Those that have not announced yet what they have.
    unsynced: BTreeSet<usize>,
    claims: Claims,
    identities: Identities,
    places: Places,
    workers: Workers,
    members: BTreeMap<ClusterName, Member>,
    tasks: JoinSet<(ClusterName, Report)>,
    attempts: u64,
    metrics: FleetMetrics,
}

/// The result of a task.
enum Report {
    Connected {
        attempt: u64,
        result: Result<Identified, Fault>,
    },
    Exchanged {
        cluster: Cluster,
        result: Result<Option<String>, String>,
    },
    /// A controller has ended.
    Ended(Result<(), String>),
    CleanedUp {
        cluster: Cluster,
        result: Result<(), String>,
    },
}

impl Supervisor {
    fn provided(&mut self, source: usize, event: Result<ClusterEvent, ClusterError>) {
        if matches!(event, Ok(ClusterEvent::InitDone)) && self.unsynced.remove(&source) {
            self.fleet.provider_has_synced();
        }
        let changes = event.and_then(|event| {
            self.claims.apply(source, event).map_err(|Claimed { name, source, holder }| {
                ClusterError::Claimed {
                    name,
                    source_name: self.sources[source].clone(),
                    holder: self.sources[holder].clone(),
                }
            })
        });
        match changes {
            Ok(changes) => changes.into_iter().for_each(|change| self.change(change)),
            Err(error) => {
                tracing::error!(provider = self.sources[source], %error, "a cluster cannot be used; all others are not affected");
            }
        }
    }

    fn change(&mut self, change: Change) {
        let now = Instant::now();
        let (name, effects) = match change {
            Change::Remove(name) => {
                let Some(member) = self.members.get_mut(&name) else { return };
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
            self.members.insert(spec.name.clone(), Member::new(unit, spec));
            return effects;
        };
        let is_elsewhere = match &member.cluster {
            Some(cluster) if member.unit.is_leaving() => !cluster.client().has_server_of(&spec.config),
            Some(cluster) => {
                cluster.set_labels(spec.labels.clone());
                false
            }
            None => false,
        };
        let before = std::mem::replace(&mut member.spec, spec);
        match member.spec.is_reached_as(&before) {
            true => member.unit.repeated(now),
            false if is_elsewhere => member.unit.announced_elsewhere(now),
            false => member.unit.announced(now),
        }
    }

    fn stop_all(&mut self) {
        self.clean_up = None; // the end of the program is not that of the clusters
        let now = Instant::now();
        let names: Vec<ClusterName> = self.members.keys().cloned().collect();
        for name in names {
            let Some(member) = self.members.get_mut(&name) else { continue };
            member.withdraw_clean_up();
            let effects = member.unit.removed(now);
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
    fn look(&mut self) {
        let now = Instant::now();
        let names: Vec<ClusterName> = self.members.keys().cloned().collect();
        for name in names {
            let Some(member) = self.members.get_mut(&name) else { continue };
            let look = if member.unit.runs() { member.look() } else { None };
            let mut effects = look.map(|look| member.unit.looked_at(look, now)).unwrap_or_default();
            effects.extend(member.unit.timer(now));
            self.perform(&name, effects);
        }
        let states = self.members.values().map(|member| member.unit.state());
        self.metrics.record(&Summary::of(states.map(|(state, since, _)| (state, since)), now));
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
            let effects = member.unit.announced(Instant::now());
            self.perform(&name, effects);
        }
    }

    fn reported(&mut self, name: &ClusterName, report: Report) {
        let now = Instant::now();
        let Some(member) = self.members.get_mut(name) else { return };
        let effects = match report {
            // Of an earlier life of the cluster, or with an earlier configuration.
            Report::Connected { attempt, .. } if attempt != member.attempt => return,
            Report::Exchanged { cluster, .. } if !member.is_of(&cluster) => return,
            Report::Connected { result, .. } => {
                let is_part = member.spec.is_part;
                match result {
                    Ok((client, uid)) => match self.identities.claim_if(name, uid.filter(|_| !is_part)) {
                        Ok(()) => {
                            member.answered(client);
                            member.unit.connected(Ok(()), now)
                        }
                        Err(error) => member.refused(&error, now),
                    },
                    Err(fault) => member.unit.connected(Err(fault), now),
                }
            }
            Report::Exchanged { result, .. } => return self.exchanged(name, result),
            Report::CleanedUp { cluster, .. } if !member.is_of(&cluster) => return,
            Report::CleanedUp { result, .. } => {
                if let Err(error) = result {
                    tracing::error!(cluster = %name, error, "the program did not clean up on a cluster that was removed");
                }
                member.unit.cleaned_up(now)
            }
            Report::Ended(result) => {
                if let Some(running) = &mut member.running {
                    running.left -= 1;
                }
                match member.unit.runs() {
                    true => {
                        let why = result
                            .err()
                            .unwrap_or_else(|| "a controller ended although it should run".into());
                        member.unit.broke(why, now)
                    }
                    false if member.has_stopped() => member.stopped(now),
                    false => Vec::new(),
                }
            }
        };
        self.perform(name, effects);
    }

    fn exchanged(&mut self, name: &ClusterName, result: Result<Option<String>, String>) {
        let Some(member) = self.members.get_mut(name) else { return };
        let again = std::mem::take(&mut member.exchange) == Exchange::RunningAndWanted;
        let is_part = member.spec.is_part;
        let claimed = match result {
            Ok(uid) => self.identities.claim_if(name, uid.filter(|_| !is_part)),
            Err(error) => {
                tracing::error!(cluster = %name, error, "the announced credentials cannot be used; it keeps those that it has");
                Ok(())
            }
        };
        let now = Instant::now();
        let mut effects = claimed.map_or_else(|error| member.refused(&error, now), |()| Vec::new());
        if again {
            effects.extend(member.unit.announced(now));
        }
        self.perform(name, effects);
    }

    /// Performs the effects of a unit, and those to which they lead at once.
    fn perform(&mut self, name: &ClusterName, effects: Vec<Effect>) {
        let mut effects = VecDeque::from(effects);
        while let Some(effect) = effects.pop_front() {
            effects.extend(self.perform_one(name, effect));
        }
        let Some(member) = self.members.get(name) else { return };
        let state = member.unit.state();
        if self.fleet.show(name, member.cluster.as_ref(), state) {
            log_state(name, state.0, state.2);
        }
    }

    fn perform_one(&mut self, name: &ClusterName, effect: Effect) -> Vec<Effect> {
        let Some(member) = self.members.get_mut(name) else { return Vec::new() };
        match effect {
            Effect::AskPlace(attempt) => self.places.ask(name.clone(), attempt),
            Effect::LeavePlace => self.places.leave(name),
            Effect::Connect => {
                self.attempts += 1;
                member.attempt = self.attempts;
                let attempt = member.attempt;
                let present = member.cluster.as_ref().map(Cluster::client);
                let name = name.clone();
                let connecting =
                    connect(name.clone(), present, member.spec.config.clone(), self.options.clone());
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
            Effect::CleanUp => return self.clean_up(name),
            Effect::WithdrawCleanUp => member.withdraw_clean_up(),
            Effect::Forget => {
                member.forget();
                self.identities.forget(name);
                if member.unit.has_left() {
                    self.members.remove(name);
                    tracing::info!(cluster = %name, "it has left");
                }
                self.fleet.forget(name);
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
        let Some(member) = self.members.get_mut(name) else { return Vec::new() };
        let (Some(clean_up), Some(cluster)) = (&self.clean_up, &member.cluster) else {
            return member.unit.cleaned_up(Instant::now());
        };
        let withdrawn = CancellationToken::new();
        let mut cleaning_up = clean_up(cluster.clone(), withdrawn.clone());
        if member.unit.is_replaced() {
            let successor = connect(name.clone(), None, member.spec.config.clone(), self.options.clone());
            cleaning_up = clean_up_old(self.identities.uid_of(name), successor, cleaning_up).boxed();
        }
        let (name, cluster) = (name.clone(), cluster.clone());
        let cleaning_up = async move { (name, Report::CleanedUp { cluster, result: cleaning_up.await }) };
        let _task = TaskHandle(self.tasks.spawn(cleaning_up));
        member.cleaning_up = Some(CleaningUp { _task, withdrawn });
        Vec::new()
    }

    fn exchange(&mut self, name: &ClusterName) {
        let Some(member) = self.members.get_mut(name) else { return };
        let Some(cluster) = &member.cluster else { return };
        if member.exchange != Exchange::None {
            member.exchange = Exchange::RunningAndWanted;
            return;
        }
        member.exchange = Exchange::Running;
        let (name, cluster) = (name.clone(), cluster.clone());
        let exchanging = exchange(cluster.client(), member.spec.config.clone());
        self.tasks.spawn(async move { (name, Report::Exchanged { cluster, result: exchanging.await }) });
    }
}

fn log_state(name: &ClusterName, state: ClusterState, reason: Option<&str>) {
    match reason {
        Some(reason) => tracing::warn!(cluster = %name, %state, reason, "a cluster cannot be used now"),
        None => tracing::info!(cluster = %name, %state, "a cluster changes its state"),
    }
}
