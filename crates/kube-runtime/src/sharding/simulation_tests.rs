//! Members in simulated time: latencies, lost requests and responses, partitions, stalled processes, restarts, clocks that run at different
//! rates, wall clocks that jump, and reconciles that take their time to stop.

use super::*;
use crate::sharding::{claims::Claims, rendezvous::PartitionBy};
use std::collections::HashSet;

const TICK: Duration = Duration::from_millis(100);
const SECOND: Duration = Duration::from_secs(1);
const LEASE_SECONDS: i32 = 15;
const RENEW_DEADLINE: Duration = Duration::from_secs(10);
const RETRY_PERIOD: Duration = Duration::from_secs(2);
/// After the renew deadline, reconciles are cancelled within this time.
const TIME_TO_STOP: Duration = Duration::from_millis(4500);

#[derive(Default)]
pub(super) struct Server {
    leases: BTreeMap<String, Lease>,
    version: u64,
}

impl Server {
    pub(super) fn handle(&mut self, request: &Request) -> Response {
        let key = |lease: &Lease| lease.metadata.name.clone().unwrap();
        match request {
            Request::List => Response::Leases(self.leases.values().cloned().collect()),
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
    /// What was assigned before, until its reconciles have stopped.
    stopping: Vec<Stopping>,
    last_deadline: Instant,
}

struct Stopping {
    claims: Claims,
    /// Ticks.
    until: u64,
    cancel_at: Option<Instant>,
}

struct Call {
    request: Request,
    sent: Instant,
    arrives: Option<u64>,
    returns: Option<u64>,
    response: Option<Response>,
}

struct Simulation {
    rng: fastrand::Rng,
    start: Instant,
    tick: u64,
    server: Server,
    processes: Vec<Process>,
    keys: Vec<u64>,
    faults: bool,
}

impl Simulation {
    fn new(seed: u64, members: usize, keys: usize) -> Self {
        let keys = (0..keys).map(|n| PartitionBy::Object.hash(Some("default"), &n.to_string())).collect();
        let rng = fastrand::Rng::with_seed(seed);
        let (start, server) = (Instant::now(), Server::default());
        let mut simulation = Self { rng, start, tick: 0, server, processes: Vec::new(), keys, faults: true };
        for n in 0..members {
            simulation.add(n.to_string());
        }
        simulation
    }

    fn add(&mut self, identity: String) {
        let machine = Machine::new("group".into(), identity, LEASE_SECONDS, RENEW_DEADLINE);
        self.processes.push(Process {
            assigned: machine.claims(),
            machine,
            rate: 0.95 + self.rng.f64() * 0.1,
            next: self.start,
            call: None,
            stalled_until: 0,
            partitioned_until: 0,
            stopping: Vec::new(),
            last_deadline: self.start,
        });
    }

    fn run(&mut self, ticks: u64) {
        for _ in 0..ticks {
            self.tick += 1;
            let mut changed = false;
            for n in 0..self.processes.len() {
                self.disturb(n);
                self.step(n);
                changed |= self.assign(n);
            }
            if changed {
                self.check();
            }
        }
    }

    /// No key may be reconciled by two members.
    fn check(&self) {
        // A sample where there are many, because this runs at each change.
        for key in self.keys.iter().step_by(self.keys.len().div_ceil(1000)) {
            let holders: Vec<usize> = (0..self.processes.len()).filter(|n| self.holds(*n, *key)).collect();
            assert!(holders.len() <= 1, "at tick {} {holders:?} hold {key}", self.tick);
        }
    }

    /// By its own clock. A stalled process holds what it is reconciling until its limit, because its requests may be in flight.
    fn holds(&self, n: usize, key: u64) -> bool {
        let process = &self.processes[n];
        let now = self.local(n);
        let limit = process.machine.deadline().unwrap_or(process.last_deadline) + TIME_TO_STOP;
        (now < limit && process.assigned.include(key))
            || process.stopping.iter().any(|stopping| {
                stopping.until > self.tick
                    && stopping.cancel_at.is_none_or(|cancel_at| now < cancel_at)
                    && stopping.claims.include(key)
            })
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
        if self.rng.u32(0..4000) == 0 {
            let identity = format!("{n}-{}", self.tick);
            self.processes[n].machine = Machine::new("group".into(), identity, LEASE_SECONDS, RENEW_DEADLINE);
            self.processes[n].assigned = self.processes[n].machine.claims();
            self.processes[n].stopping.clear();
            self.processes[n].call = None;
        }
    }

    /// What the shell does with the claims. Returns whether they have changed.
    fn assign(&mut self, n: usize) -> bool {
        let (tick, now) = (self.tick, self.local(n));
        let length = self.rng.u64(0..100);
        let process = &mut self.processes[n];
        if tick < process.stalled_until || process.call.is_some() && process.machine.deadline().is_some() {
            return false;
        }
        if let Some(deadline) = process.machine.deadline() {
            process.last_deadline = deadline;
        }
        process.stopping.retain(|stopping| {
            stopping.until > tick && stopping.cancel_at.is_none_or(|cancel_at| now < cancel_at)
        });
        let claims = process.machine.claims();
        let changed = claims != process.assigned;
        if changed {
            let lost = process.machine.deadline().is_none();
            let cancel_at = lost.then(|| process.last_deadline + TIME_TO_STOP);
            let before = std::mem::replace(&mut process.assigned, claims);
            process.stopping.push(Stopping { claims: before, until: tick + length, cancel_at });
        }
        // What is still assigned need not stop.
        let stopped = process.stopping.is_empty();
        if stopped && process.machine.drained(&process.assigned) {
            process.next = process.next.min(now);
        }
        changed
    }

    fn step(&mut self, n: usize) {
        let (tick, now) = (self.tick, self.local(n));
        if let Some(call) = &mut self.processes[n].call
            && call.arrives.is_some_and(|arrives| arrives <= tick)
        {
            call.arrives = None;
            call.response = Some(self.server.handle(&call.request));
        }
        let wall = self.wall();
        let process = &mut self.processes[n];
        if tick < process.stalled_until {
            return;
        }
        let deadline = process.machine.deadline();
        process.machine.expire(now);
        let Some(call) = process.call.take() else {
            if now >= process.next {
                process.next = now + RETRY_PERIOD;
                let request = process.machine.attempt(wall);
                self.send(n, request, now);
            }
            return;
        };
        if deadline.is_some_and(|deadline| deadline <= now) {
            process.machine.abandon(call.request);
            process.next = now;
            return;
        }
        let timed_out = now >= call.sent + 5 * SECOND;
        if !timed_out && call.returns.is_none_or(|returns| returns > tick) {
            process.call = Some(call);
            return;
        }
        let response = if timed_out { Response::Failed } else { call.response.unwrap_or(Response::Failed) };
        if let Some(request) = process.machine.respond(call.request, response, call.sent, now, wall) {
            self.send(n, request, now);
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
        }
    }
}

#[test]
fn no_key_has_two_members_and_each_has_one_soon_after_the_faults_end() {
    for seed in 0..60 {
        let mut simulation = Simulation::new(seed, 2 + usize::try_from(seed % 4).unwrap(), 100);
        simulation.run(2400);
        simulation.end_faults();
        // The Leases of members that were restarted expire, reconciles of 10 s end, and views are published.
        simulation.run(450);
        let owners = simulation.owners();
        assert!(owners.iter().all(Option::is_some), "seed {seed}: keys without a member: {owners:?}");
        let members: HashSet<_> = owners.iter().collect();
        assert_eq!(members.len(), simulation.processes.len(), "seed {seed}: every member has keys");
    }
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
