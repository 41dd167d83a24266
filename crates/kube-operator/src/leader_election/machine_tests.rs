//! The state machine of a candidate, step by step, and with random failures.

use super::*;
use std::collections::BTreeMap;

const SECOND: Duration = Duration::from_secs(1);

fn config() -> Config {
    Config::new("name", "namespace")
}

/// A server with one Lease.
#[derive(Debug, Default)]
struct Server {
    lease: Option<Lease>,
    version: u64,
}

impl Server {
    fn handle(&mut self, request: &Request) -> Response {
        match (request, &self.lease) {
            (Request::Read, None) | (Request::Replace(_), None) => Response::NotFound,
            (Request::Read, Some(lease)) => Response::Lease(Box::new(lease.clone())),
            (Request::Create(_), Some(_)) => Response::Conflict,
            (Request::Replace(new), Some(old))
                if new.metadata.resource_version != old.metadata.resource_version =>
            {
                Response::Conflict
            }
            (Request::Create(new) | Request::Replace(new), _) => {
                self.version += 1;
                let mut new = new.clone();
                new.metadata.resource_version = Some(self.version.to_string());
                self.lease = Some((*new).clone());
                Response::Lease(new)
            }
        }
    }

    fn spec(&self) -> &LeaseSpec {
        self.lease.as_ref().and_then(|lease| lease.spec.as_ref()).expect("a Lease with a spec")
    }
}

/// One whole attempt without latency.
fn attempt(machine: &mut Machine, server: &mut Server, now: Instant) {
    let first = machine.attempt(Timestamp::UNIX_EPOCH);
    exchange(machine, server, Some(first), now);
}

fn exchange(machine: &mut Machine, server: &mut Server, mut request: Option<Request>, now: Instant) {
    while let Some(current) = request {
        let response = server.handle(&current);
        request = machine.respond(&current, response, now, now, Timestamp::UNIX_EPOCH);
    }
}

fn candidates() -> (Machine, Machine, Server, Instant) {
    let machine = |identity: &str| Machine::new(&config(), identity.to_owned());
    (machine("a"), machine("b"), Server::default(), Instant::now())
}

#[test]
fn the_first_candidate_creates_the_lease_and_renews_it_without_reading() {
    let (mut a, mut b, mut server, t) = candidates();
    attempt(&mut a, &mut server, t);
    assert_eq!(a.deadline(), Some(t + 10 * SECOND));
    assert_eq!(server.spec().lease_transitions, Some(0));
    assert_eq!(server.spec().lease_duration_seconds, Some(15));
    attempt(&mut b, &mut server, t);
    assert_eq!((b.deadline(), b.holder()), (None, Some("a")));
    assert!(matches!(a.attempt(Timestamp::UNIX_EPOCH), Request::Replace(_)));
}

#[test]
fn a_candidate_takes_over_when_the_lease_did_not_change_for_its_duration() {
    let (mut a, mut b, mut server, t) = candidates();
    attempt(&mut a, &mut server, t);
    attempt(&mut b, &mut server, t + SECOND);
    assert_eq!(b.next_attempt(t + 15 * SECOND), t + 16 * SECOND, "it looks when the Lease expires");
    attempt(&mut b, &mut server, t + 15 * SECOND);
    assert_eq!(b.deadline(), None, "seen at 1 s, for 15 s");
    attempt(&mut b, &mut server, t + 16 * SECOND);
    assert_eq!(b.deadline(), Some(t + 26 * SECOND));
    assert_eq!(server.spec().lease_transitions, Some(1));
    attempt(&mut a, &mut server, t + 17 * SECOND);
    assert_eq!((a.deadline(), a.holder()), (None, Some("b")));
}

#[test]
fn a_leader_ends_at_the_deadline_after_the_last_confirmed_write_was_sent() {
    let (mut a, _, mut server, t) = candidates();
    attempt(&mut a, &mut server, t);
    let renewal = a.attempt(Timestamp::UNIX_EPOCH);
    let response = server.handle(&renewal);
    a.respond(&renewal, response, t + SECOND, t + 5 * SECOND, Timestamp::UNIX_EPOCH);
    a.expire(t + 11 * SECOND - Duration::from_millis(1));
    assert!(a.deadline().is_some());
    a.expire(t + 11 * SECOND);
    assert_eq!(a.deadline(), None);
}

#[test]
fn a_confirmation_after_the_deadline_is_no_leadership() {
    let (mut a, _, mut server, t) = candidates();
    attempt(&mut a, &mut server, t);
    let renewal = a.attempt(Timestamp::UNIX_EPOCH);
    let response = server.handle(&renewal);
    a.respond(&renewal, response, t + SECOND, t + 11 * SECOND, Timestamp::UNIX_EPOCH);
    assert_eq!(a.deadline(), None);
}

#[test]
fn a_foreign_edit_of_the_lease_costs_a_read_and_no_leadership() {
    let (mut a, _, mut server, t) = candidates();
    attempt(&mut a, &mut server, t);
    let lease = server.lease.as_mut().expect("a Lease");
    lease.metadata.resource_version = Some("edited".into());
    lease.metadata.labels = Some(BTreeMap::from([("team".to_owned(), "x".to_owned())]));
    attempt(&mut a, &mut server, t + 2 * SECOND);
    assert_eq!(a.deadline(), Some(t + 12 * SECOND));
    assert!(
        server.lease.as_ref().is_some_and(|lease| lease.metadata.labels.is_some()),
        "what others wrote stays"
    );
}

#[test]
fn a_deleted_lease_is_created_by_others_only_after_its_duration() {
    let (mut a, mut b, mut server, t) = candidates();
    attempt(&mut a, &mut server, t);
    attempt(&mut b, &mut server, t + SECOND);
    server.lease = None;
    attempt(&mut b, &mut server, t + 2 * SECOND);
    assert!(server.lease.is_none(), "its holder may still work");
    attempt(&mut a, &mut server, t + 3 * SECOND);
    assert_eq!(a.deadline(), Some(t + 13 * SECOND), "the holder creates it again");
    server.lease = None;
    attempt(&mut b, &mut server, t + 16 * SECOND);
    assert!(b.deadline().is_some());
}

#[test]
fn a_released_lease_is_taken_at_once() {
    let (mut a, mut b, mut server, t) = candidates();
    attempt(&mut a, &mut server, t);
    attempt(&mut b, &mut server, t);
    let release = a.release(Timestamp::UNIX_EPOCH);
    exchange(&mut a, &mut server, release, t);
    assert_eq!(a.deadline(), None);
    assert_eq!(
        (server.spec().holder_identity.as_deref(), server.spec().lease_duration_seconds),
        (None, Some(1))
    );
    attempt(&mut b, &mut server, t + SECOND);
    assert!(b.deadline().is_some());
    assert_eq!(server.spec().lease_transitions, Some(1));
}

#[test]
fn an_unconfirmed_write_is_released_too_and_a_lease_of_others_is_not() {
    let (mut a, mut b, mut server, t) = candidates();
    let read = a.attempt(Timestamp::UNIX_EPOCH);
    let create = a.respond(&read, Response::NotFound, t, t, Timestamp::UNIX_EPOCH).expect("a create");
    server.handle(&create); // the response is lost
    a.abandon();
    let release = a.release(Timestamp::UNIX_EPOCH);
    assert_eq!(release, Some(Request::Read));
    exchange(&mut a, &mut server, release, t);
    assert_eq!(server.spec().holder_identity, None);
    attempt(&mut b, &mut server, t);
    let release = a.release(Timestamp::UNIX_EPOCH);
    exchange(&mut a, &mut server, release, t);
    assert_eq!(server.spec().holder_identity.as_deref(), Some("b"));
}

/// Electors in simulated time: latencies, lost requests and responses, partitions, stalled processes, clocks that run at different rates,
/// wall clocks that jump.
struct Candidate {
    machine: Machine,
    /// Local seconds per true second.
    rate: f64,
    began: Instant,
    next: Instant,
    call: Option<Call>,
    /// Tick until which the process does not run.
    stalled_until: u64,
    partitioned_until: u64,
}

struct Call {
    request: Request,
    sent: Instant,
    /// Tick at which the server handles it, unless it is lost.
    arrives: Option<u64>,
    /// Tick at which the response arrives, unless it is lost.
    returns: Option<u64>,
    response: Option<Response>,
}

const TICK: Duration = Duration::from_millis(100);

struct Simulation {
    rng: fastrand::Rng,
    start: Instant,
    tick: u64,
    server: Server,
    candidates: Vec<Candidate>,
    faults: bool,
}

impl Simulation {
    fn new(seed: u64) -> Self {
        let mut rng = fastrand::Rng::with_seed(seed);
        let start = Instant::now();
        let candidates = (0..rng.usize(2..=5)).map(|n| Candidate {
            machine: Machine::new(&config(), n.to_string()),
            rate: 0.95 + rng.f64() * 0.1,
            began: start,
            next: start,
            call: None,
            stalled_until: 0,
            partitioned_until: 0,
        });
        let candidates = candidates.collect();
        Self { rng, start, tick: 0, server: Server::default(), candidates, faults: true }
    }

    fn run(&mut self, ticks: u64) {
        for _ in 0..ticks {
            self.tick += 1;
            for n in 0..self.candidates.len() {
                self.disturb(n);
                self.step(n);
            }
            let leaders: Vec<usize> = (0..self.candidates.len()).filter(|n| self.leads(*n)).collect();
            assert!(leaders.len() <= 1, "at tick {} {leaders:?} lead", self.tick);
        }
    }

    fn local(&self, n: usize) -> Instant {
        self.start + (TICK * u32::try_from(self.tick).expect("few ticks")).mul_f64(self.candidates[n].rate)
    }

    /// By its own clock: a stalled process leads until its deadline, too, for its requests may be on their way.
    fn leads(&self, n: usize) -> bool {
        self.candidates[n].machine.deadline().is_some_and(|deadline| self.local(n) < deadline)
    }

    fn disturb(&mut self, n: usize) {
        if !self.faults {
            return;
        }
        if self.rng.u32(0..2000) == 0 {
            self.candidates[n].stalled_until = self.tick + self.rng.u64(0..400);
        }
        if self.rng.u32(0..1000) == 0 {
            self.candidates[n].partitioned_until = self.tick + self.rng.u64(0..400);
        }
        if self.rng.u32(0..4000) == 0 {
            // A restart: a new process with a new identity, and no memory.
            let identity = format!("{n}-{}", self.tick);
            self.candidates[n].machine = Machine::new(&config(), identity);
            self.candidates[n].call = None;
        }
    }

    fn step(&mut self, n: usize) {
        let (tick, now) = (self.tick, self.local(n));
        if let Some(call) = &mut self.candidates[n].call
            && call.arrives.is_some_and(|arrives| arrives <= tick)
        {
            call.arrives = None;
            call.response = Some(self.server.handle(&call.request));
        }
        let wall = self.wall();
        let candidate = &mut self.candidates[n];
        if tick < candidate.stalled_until {
            return;
        }
        let deadline = candidate.machine.deadline();
        candidate.machine.expire(now);
        let Some(call) = candidate.call.take() else {
            if now >= candidate.next {
                candidate.began = now;
                let request = candidate.machine.attempt(wall);
                self.send(n, request, now);
            }
            return;
        };
        if deadline.is_some_and(|deadline| deadline <= now) {
            candidate.machine.abandon();
            candidate.next = now;
            return;
        }
        let timed_out = now >= call.sent + 5 * SECOND;
        if !timed_out && call.returns.is_none_or(|returns| returns > tick) {
            candidate.call = Some(call);
            return;
        }
        let response = if timed_out { Response::Failed } else { call.response.unwrap_or(Response::Failed) };
        let next = candidate.machine.respond(&call.request, response, call.sent, now, wall);
        candidate.next = candidate.machine.next_attempt(candidate.began);
        if let Some(request) = next {
            self.send(n, request, now);
        }
    }

    fn send(&mut self, n: usize, request: Request, now: Instant) {
        let lost =
            self.faults && (self.tick < self.candidates[n].partitioned_until || self.rng.u32(0..20) == 0);
        let slow = if self.faults && self.rng.u32(0..10) == 0 { 120 } else { 3 };
        let arrives = (!lost).then(|| self.tick + self.rng.u64(0..slow));
        let response_lost = self.faults && self.rng.u32(0..20) == 0;
        let returns = arrives.filter(|_| !response_lost).map(|arrives| arrives + self.rng.u64(1..=slow));
        self.candidates[n].call = Some(Call { request, sent: now, arrives, returns, response: None });
    }

    /// Any time at all: nothing may depend on it.
    fn wall(&mut self) -> Timestamp {
        Timestamp::from_second(self.rng.i64(0..4_000_000_000)).expect("in range")
    }
}

#[test]
fn two_candidates_never_lead_at_once_and_one_leads_soon_after_the_faults_end() {
    for seed in 0..300 {
        let mut simulation = Simulation::new(seed);
        simulation.run(2400);
        simulation.faults = false;
        for candidate in &mut simulation.candidates {
            candidate.stalled_until = 0;
            candidate.partitioned_until = 0;
        }
        // Lease duration, retry period, and a call in flight.
        simulation.run(230);
        assert!((0..simulation.candidates.len()).any(|n| simulation.leads(n)), "seed {seed}: none leads");
    }
}

#[test]
fn a_new_leader_is_found_within_lease_duration_and_retry_period() {
    for seed in 0..100 {
        let mut simulation = Simulation::new(seed);
        simulation.faults = false;
        simulation.run(300);
        let leader = (0..simulation.candidates.len()).find(|n| simulation.leads(*n)).expect("one leads");
        simulation.candidates[leader].stalled_until = u64::MAX;
        // 15 s and 2 s, by clocks that are up to 5 % slow, and two calls of at most 0.6 s each.
        simulation.run(179 + 12 + 2);
        let leaders = (0..simulation.candidates.len()).filter(|n| *n != leader && simulation.leads(*n));
        assert_eq!(leaders.count(), 1, "seed {seed}");
    }
}
