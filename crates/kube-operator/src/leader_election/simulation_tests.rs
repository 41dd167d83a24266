//! Electors in simulated time: latencies, lost requests and responses, partitions, stalled processes, suspended machines, clocks that run at
//! different rates, wall clocks that jump, and Leases that people delete and edit.

use super::*;
use crate::simulation_seeds::for_each_seed;

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
    /// When its machine was suspended last.
    suspended_from: u64,
    suspended_until: u64,
    /// For how many ticks before.
    suspended: u64,
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
    /// Whether the clocks of the candidates go on while their machines are suspended.
    clocks_count_suspension: bool,
    /// Whether people delete and edit the Lease.
    edits: bool,
    /// Until when an edit may make two leaders.
    excused_until: u64,
    /// The ticks in which two led without an excuse.
    overlaps: Vec<u64>,
}

/// What a leader has that does not know of an edit: its renew deadline, by a clock that is 5 % slow.
const EXCUSE: u64 = 106;

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
            suspended_from: 0,
            suspended_until: 0,
            suspended: 0,
        });
        let candidates = candidates.collect();
        Self {
            rng,
            start,
            tick: 0,
            server: Server::default(),
            candidates,
            faults: true,
            clocks_count_suspension: true,
            edits: false,
            excused_until: 0,
            overlaps: Vec::new(),
        }
    }

    fn run(&mut self, ticks: u64) {
        for _ in 0..ticks {
            self.tick += 1;
            if self.faults && self.edits && self.rng.u32(0..600) == 0 {
                self.edit();
            }
            for n in 0..self.candidates.len() {
                self.disturb(n);
                self.step(n);
            }
            let leaders = (0..self.candidates.len()).filter(|n| self.leads(*n)).count();
            if leaders > 1 && self.tick > self.excused_until {
                self.overlaps.push(self.tick);
            }
        }
    }

    /// What a person does with kubectl.
    fn edit(&mut self) {
        let Some(lease) = &mut self.server.lease else { return };
        let spec = lease.spec.get_or_insert_default();
        match self.rng.u32(0..8) {
            0..3 => self.server.lease = None,
            3 => spec.holder_identity = None,
            4 => spec.holder_identity = Some("a person".to_owned()),
            5 => spec.lease_duration_seconds = Some(1),
            6 => spec.lease_duration_seconds = Some(-1),
            _ => lease.spec = None,
        }
        self.server.version += 1;
        if let Some(lease) = &mut self.server.lease {
            lease.metadata.resource_version = Some(self.server.version.to_string());
        }
        self.excused_until = self.tick + EXCUSE;
    }

    /// The time that its clock shows.
    fn local(&self, n: usize) -> Instant {
        let candidate = &self.candidates[n];
        let last = self.tick.min(candidate.suspended_until) - candidate.suspended_from;
        let stood_still = if self.clocks_count_suspension { 0 } else { candidate.suspended + last };
        self.start
            + (TICK * u32::try_from(self.tick - stood_still).expect("few ticks")).mul_f64(candidate.rate)
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
        if self.tick >= self.candidates[n].stalled_until && self.rng.u32(0..2000) == 0 {
            let ticks = self.rng.u64(0..400);
            let candidate = &mut self.candidates[n];
            candidate.stalled_until = self.tick + ticks;
            // Its timers fire later by that, whatever its clock shows.
            candidate.next += (TICK * u32::try_from(ticks).expect("few ticks")).mul_f64(candidate.rate);
            candidate.suspended += candidate.suspended_until - candidate.suspended_from;
            (candidate.suspended_from, candidate.suspended_until) = (self.tick, self.tick + ticks);
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

/// Runs one seed: 4 minutes with faults, and then without until one has to lead.
fn run(seed: u64, edits: bool) {
    let mut simulation = Simulation::new(seed);
    simulation.edits = edits;
    simulation.run(2400);
    simulation.faults = false;
    for candidate in &mut simulation.candidates {
        candidate.stalled_until = 0;
        candidate.partitioned_until = 0;
        candidate.next = candidate.next.min(simulation.start + TICK * 2400);
    }
    // Lease duration, retry period, and a call in flight.
    simulation.run(230);
    assert_eq!(simulation.overlaps, [] as [u64; 0], "seed {seed}: two candidates lead");
    assert!((0..simulation.candidates.len()).any(|n| simulation.leads(n)), "seed {seed}: none leads");
}

#[test]
fn two_candidates_never_lead_at_once_and_one_leads_soon_after_the_faults_end() {
    for_each_seed(|seed| run(seed, false));
}

#[test]
fn two_candidates_lead_at_most_for_a_renew_deadline_after_people_have_edited_the_lease() {
    for_each_seed(|seed| run(seed, true));
}

/// What the clock is for.
#[test]
fn two_candidates_lead_if_the_clock_of_a_suspended_machine_stands_still() {
    let overlaps = (0..100).map(|seed| {
        let mut simulation = Simulation::new(seed);
        simulation.clocks_count_suspension = false;
        simulation.run(2400);
        simulation.overlaps.len()
    });
    assert!(overlaps.sum::<usize>() > 0);
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
        assert_eq!(simulation.overlaps, [] as [u64; 0], "seed {seed}");
        let leaders = (0..simulation.candidates.len()).filter(|n| *n != leader && simulation.leads(*n));
        assert_eq!(leaders.count(), 1, "seed {seed}");
    }
}
