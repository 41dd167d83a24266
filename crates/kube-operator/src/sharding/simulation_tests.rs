//! Members in simulated time: latencies, lost requests and responses, partitions, stalled processes, suspended machines, restarts, clocks that
//! run at different rates, wall clocks that jump, reconciles that take their time to stop, and Leases that people delete and edit.

use super::*;
use crate::sharding::rendezvous::PartitionBy;
use crate::simulation_seeds::for_each_seed;

const TICK: Duration = Duration::from_millis(100);
const RETRY_PERIOD: Duration = Duration::from_secs(2);

#[derive(Default)]
pub(super) struct Server {
    leases: BTreeMap<String, Lease>,
    version: u64,
}

impl Server {
    pub(super) fn handle(&mut self, request: &Request) -> Response {
        let key = |lease: &Lease| lease.metadata.name.clone().unwrap();
        match request {
            Request::List => {
                let in_group = |lease: &&Lease| {
                    lease.metadata.labels.as_ref().is_some_and(|labels| labels.contains_key(GROUP_LABEL))
                };
                Response::Leases(self.leases.values().filter(in_group).cloned().collect())
            }
            Request::Find(name) => Response::Leases(self.leases.get(name).cloned().into_iter().collect()),
            Request::Create(lease) if self.leases.contains_key(&key(lease)) => Response::Conflict,
            Request::Create(lease) => self.store((**lease).clone()),
            Request::Replace(lease) => match self.leases.get(&key(lease)) {
                Some(stored) if stored.metadata.resource_version == lease.metadata.resource_version => {
                    self.store((**lease).clone())
                }
                _ => Response::Conflict,
            },
            Request::Delete(name, version) => match self.leases.get(name) {
                Some(stored) if stored.metadata.resource_version.as_ref() == Some(version) => {
                    self.leases.remove(name);
                    Response::Deleted
                }
                _ => Response::Conflict,
            },
        }
    }

    pub(super) fn delete(&mut self, name: &str) {
        self.leases.remove(name).unwrap();
    }

    /// A change by hand.
    pub(super) fn edit(&mut self, name: &str, edit: impl FnOnce(&mut Lease)) {
        let mut lease = self.leases[name].clone();
        edit(&mut lease);
        self.store(lease);
    }

    fn store(&mut self, mut lease: Lease) -> Response {
        self.version += 1;
        lease.metadata.resource_version = Some(self.version.to_string());
        self.leases.insert(lease.metadata.name.clone().unwrap(), lease.clone());
        Response::Lease(Box::new(lease))
    }
}

struct Process {
    machine: Machine,
    /// Local seconds per true second.
    rate: f64,
    next: Instant,
    call: Option<Call>,
    stalled_until: u64,
    partitioned_until: u64,
    assigned: Claims,
    /// What was assigned before, until its reconciles have ended.
    stopping: Vec<Stopping>,
    /// When the reconciles of keys that are not assigned are cancelled.
    cancel_at: Option<Instant>,
}

struct Stopping {
    claims: Claims,
    /// Ticks.
    until: u64,
}

struct Call {
    request: Request,
    sent: Instant,
    arrives: Option<u64>,
    returns: Option<u64>,
    response: Option<Response>,
}

impl Process {
    fn is_stopping(&self, stopping: &Stopping, tick: u64, now: Instant) -> bool {
        stopping.until > tick && self.cancel_at.is_none_or(|cancel_at| now < cancel_at)
    }
}

struct Simulation {
    seed: u64,
    rng: fastrand::Rng,
    start: Instant,
    tick: u64,
    server: Server,
    processes: Vec<Process>,
    keys: Vec<u64>,
    faults: bool,
    /// Whether people delete and edit Leases.
    edits: bool,
    /// Until when an edit may have given a key two members.
    excused_until: u64,
}

/// What a member has that does not know of an edit of its Lease: its renew deadline and the time to stop, by a clock that is 5 % slow.
const EXCUSE: u64 = 106 + 48;

impl Simulation {
    fn new(seed: u64, members: usize, keys: usize) -> Self {
        let keys = (0..keys).map(|n| PartitionBy::Object.hash(Some("default"), &n.to_string())).collect();
        let rng = fastrand::Rng::with_seed(seed);
        let (start, server) = (Instant::now(), Server::default());
        let mut simulation = Self {
            seed,
            rng,
            start,
            tick: 0,
            server,
            processes: Vec::new(),
            keys,
            faults: true,
            edits: false,
            excused_until: 0,
        };
        for n in 0..members {
            simulation.add(n.to_string());
        }
        simulation
    }

    fn add(&mut self, identity: String) {
        self.processes.push(Process {
            machine: member(&identity),
            assigned: Claims::default(),
            rate: 0.95 + self.rng.f64() * 0.1,
            next: self.start,
            call: None,
            stalled_until: 0,
            partitioned_until: 0,
            stopping: Vec::new(),
            cancel_at: None,
        });
    }

    fn run(&mut self, ticks: u64) {
        for _ in 0..ticks {
            self.tick += 1;
            if self.faults && self.edits && self.rng.u32(0..600) == 0 {
                self.edit();
            }
            let mut changed = false;
            for n in 0..self.processes.len() {
                self.disturb(n);
                self.arrive(n);
                changed |= self.step(n);
            }
            if changed && self.tick > self.excused_until {
                self.check();
            }
        }
    }

    /// What a person does with kubectl.
    fn edit(&mut self) {
        let names: Vec<String> = self.server.leases.keys().cloned().collect();
        let Some(name) = self.rng.choice(names) else { return };
        match self.rng.u32(0..7) {
            0..2 => self.server.delete(&name),
            2 => self.server.edit(&name, |lease| lease.metadata.labels = None),
            3 => self.server.edit(&name, |lease| lease.metadata.annotations = None),
            4 => self.server.edit(&name, |lease| lease.spec.get_or_insert_default().holder_identity = None),
            5 => self
                .server
                .edit(&name, |lease| lease.spec.get_or_insert_default().lease_duration_seconds = Some(1)),
            _ => self.server.edit(&name, |lease| lease.spec = None),
        }
        self.excused_until = self.tick + EXCUSE;
    }

    /// No key may be reconciled by two members.
    fn check(&self) {
        // A sample where there are many, because this runs at each step of a member.
        for key in self.keys.iter().step_by(self.keys.len().div_ceil(1000)) {
            let holders: Vec<usize> = (0..self.processes.len()).filter(|n| self.holds(*n, *key)).collect();
            assert!(holders.len() <= 1, "seed {}, tick {}: {holders:?} hold {key}", self.seed, self.tick);
        }
    }

    /// Whether a reconcile of `key` may run. Only a change of the assignment ends it, at the limit if it has one.
    fn holds(&self, n: usize, key: u64) -> bool {
        let (process, now) = (&self.processes[n], self.local(n));
        // The requests of a stalled process may be in flight until it would have cancelled its reconciles.
        let limit = process.machine.deadline().map(|deadline| deadline + TO_STOP);
        let stalled = self.tick < process.stalled_until && limit.is_some_and(|limit| limit <= now);
        !stalled
            && (process.assigned.include(key)
                || process.stopping.iter().any(|stopping| {
                    process.is_stopping(stopping, self.tick, now) && stopping.claims.include(key)
                }))
    }

    fn owners(&self) -> Vec<Option<usize>> {
        let owner = |key: &u64| (0..self.processes.len()).find(|n| self.processes[*n].assigned.include(*key));
        self.keys.iter().map(owner).collect()
    }

    fn local(&self, n: usize) -> Instant {
        self.start + (TICK * u32::try_from(self.tick).unwrap()).mul_f64(self.processes[n].rate)
    }

    fn disturb(&mut self, n: usize) {
        if !self.faults {
            return;
        }
        if self.rng.u32(0..2000) == 0 {
            self.processes[n].stalled_until = self.tick + self.rng.u64(0..400);
        }
        if self.rng.u32(0..1000) == 0 {
            self.processes[n].partitioned_until = self.tick + self.rng.u64(0..400);
        }
        if self.tick >= self.processes[n].stalled_until && self.rng.u32(0..2000) == 0 {
            // Its machine is suspended: its timers fire later by that, whatever its clock shows.
            let ticks = self.rng.u64(0..400);
            let process = &mut self.processes[n];
            process.stalled_until = self.tick + ticks;
            process.next += (TICK * u32::try_from(ticks).unwrap()).mul_f64(process.rate);
        }
        if self.rng.u32(0..4000) == 0 {
            let identity = format!("{n}-{}", self.tick);
            self.processes[n].machine = member(&identity);
            self.processes[n].assigned = Claims::default();
            self.processes[n].stopping.clear();
            self.processes[n].call = None;
        }
    }

    /// A request arrives at the server, whatever its sender does meanwhile.
    fn arrive(&mut self, n: usize) {
        if let Some(call) = &mut self.processes[n].call
            && call.arrives.is_some_and(|arrives| arrives <= self.tick)
        {
            call.arrives = None;
            call.response = Some(self.server.handle(&call.request));
        }
    }

    /// What the shell does. Returns whether anything happened.
    fn step(&mut self, n: usize) -> bool {
        let (tick, now, wall) = (self.tick, self.local(n), self.wall());
        let process = &mut self.processes[n];
        if tick < process.stalled_until {
            return false;
        }
        if let Some(call) = process.call.take() {
            // As the shell: a response that is there counts, however late it is looked at.
            let returned = call.returns.is_some_and(|returns| returns <= tick);
            let response = match call.response {
                Some(response) if returned => response,
                _ if process.machine.limit(call.sent) <= now => Response::Failed,
                response => {
                    process.call = Some(Call { response, ..call });
                    return false;
                }
            };
            match process.machine.respond(call.request, response, call.sent, now, wall) {
                Some(request) => self.send(n, request, now),
                None => self.assign(n, now),
            }
            return true;
        }
        if process.machine.deadline().is_some_and(|deadline| deadline <= now) {
            self.assign(n, now);
            return true;
        }
        let mut stopping = std::mem::take(&mut process.stopping);
        stopping.retain(|stopping| process.is_stopping(stopping, tick, now));
        process.stopping = stopping;
        if process.stopping.is_empty() && process.machine.stopped() || process.next <= now {
            process.next = now + RETRY_PERIOD;
            let request = process.machine.attempt(wall);
            self.send(n, request, now);
        }
        false
    }

    fn assign(&mut self, n: usize, now: Instant) {
        let until = self.tick + self.rng.u64(0..100);
        let process = &mut self.processes[n];
        if let Some(Change { claims, cancel_at }) = process.machine.assign(now) {
            let claims = std::mem::replace(&mut process.assigned, claims);
            process.stopping.push(Stopping { claims, until });
            process.cancel_at = cancel_at;
        }
    }

    fn send(&mut self, n: usize, request: Request, now: Instant) {
        let lost =
            self.faults && (self.tick < self.processes[n].partitioned_until || self.rng.u32(0..20) == 0);
        let slow = if self.faults && self.rng.u32(0..10) == 0 { 120 } else { 3 };
        let arrives = (!lost).then(|| self.tick + self.rng.u64(0..slow));
        let response_lost = self.faults && self.rng.u32(0..20) == 0;
        let returns = arrives.filter(|_| !response_lost).map(|arrives| arrives + self.rng.u64(1..=slow));
        self.processes[n].call = Some(Call { request, sent: now, arrives, returns, response: None });
    }

    /// Any time at all: nothing may depend on it.
    fn wall(&mut self) -> Timestamp {
        Timestamp::from_second(self.rng.i64(0..4_000_000_000)).unwrap()
    }

    fn end_faults(&mut self) {
        self.faults = false;
        for process in &mut self.processes {
            process.stalled_until = 0;
            process.partitioned_until = 0;
            process.next = process.next.min(self.start + TICK * u32::try_from(self.tick).unwrap());
        }
    }
}

/// Runs one seed: 4 minutes with faults, and then without until every key has to have a member.
fn run(seed: u64, edits: bool) {
    let mut simulation = Simulation::new(seed, 2 + usize::try_from(seed % 4).unwrap(), 20);
    simulation.edits = edits;
    simulation.run(2400);
    simulation.end_faults();
    // The Leases of members that were restarted expire, reconciles of 10 s end, and views are published. A member whose Lease was edited
    // stops first, and joins when what was written there has expired.
    simulation.run(if edits { 700 } else { 450 });
    let owners = simulation.owners();
    assert!(owners.iter().all(Option::is_some), "seed {seed}: keys without a member: {owners:?}");
    let joined = simulation.processes.iter().all(|process| !process.machine.members().is_empty());
    assert!(joined, "seed {seed}: every process is a member");
}

#[test]
fn no_key_has_two_members_and_each_has_one_soon_after_the_faults_end() {
    for_each_seed(|seed| run(seed, false));
}

#[test]
fn a_key_has_two_members_at_most_for_a_while_after_people_have_edited_a_lease() {
    for_each_seed(|seed| run(seed, true));
}

#[test]
fn members_that_come_and_go_move_their_share_of_100_000_keys() {
    let mut simulation = Simulation::new(1, 3, 100_000);
    simulation.faults = false;
    simulation.run(400);
    let settled = simulation.owners();
    assert!(settled.iter().all(Option::is_some));

    simulation.add("newcomer".into());
    simulation.run(400);
    let joined = simulation.owners();
    let moved: Vec<_> = settled.iter().zip(&joined).filter(|(before, after)| before != after).collect();
    assert!(moved.iter().all(|(_, after)| **after == Some(3)), "only to the newcomer");
    assert!(moved.len() > 22_500 && moved.len() < 27_500, "{}", moved.len());

    // A crash: within lease duration, retry period, and the time to publish, its keys have other members.
    simulation.processes[3].stalled_until = u64::MAX;
    simulation.run(400);
    let left: Vec<_> = (0..simulation.keys.len())
        .map(|key| (0..3).find(|n| simulation.processes[*n].assigned.include(simulation.keys[key])))
        .collect();
    assert_eq!(left, settled, "as if it had never been there");
}
