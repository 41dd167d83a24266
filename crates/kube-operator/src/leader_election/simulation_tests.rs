//! Electors in simulated time, with Leases that people delete and edit. The faults are those of [`World`].

use super::*;
use crate::simulation::{Node, SEEDS, World, for_each_seed};

struct Candidate {
    machine: Machine,
    node: Node<Request, Response>,
    /// When its attempt began.
    began: Instant,
}

struct Simulation {
    world: World,
    server: Server,
    candidates: Vec<Candidate>,
    /// The ticks in which two led without an excuse.
    overlaps: Vec<u64>,
}

/// What a leader has that does not know of an edit: its renew deadline, by a clock that is 5 % slow.
const EXCUSE: u64 = 106;

impl Simulation {
    fn new(seed: u64) -> Self {
        let mut world = World::new(seed);
        let candidates = (0..world.rng.usize(2..=5)).map(|n| {
            let node = world.node();
            Candidate { machine: Machine::new(&config(), n.to_string()), began: node.next, node }
        });
        let candidates = candidates.collect();
        Self { world, server: Server::default(), candidates, overlaps: Vec::new() }
    }

    fn run(&mut self, ticks: u64) {
        for _ in 0..ticks {
            self.world.tick += 1;
            if self.world.is_edited(EXCUSE) {
                self.edit();
            }
            for n in 0..self.candidates.len() {
                let candidate = &mut self.candidates[n];
                if self.world.disturb(&mut candidate.node) {
                    candidate.machine = Machine::new(&config(), format!("{n}-{}", self.world.tick));
                }
                self.step(n);
            }
            let leaders = (0..self.candidates.len()).filter(|n| self.leads(*n)).count();
            if leaders > 1 && !self.world.is_excused() {
                self.overlaps.push(self.world.tick);
            }
        }
    }

    /// What a person does with kubectl.
    fn edit(&mut self) {
        let Some(lease) = &mut self.server.lease else { return };
        let spec = lease.spec.get_or_insert_default();
        match self.world.rng.u32(0..8) {
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
    }

    /// By its own clock: a stalled process leads until its deadline, too, for its requests may be on their way.
    fn leads(&self, n: usize) -> bool {
        let candidate = &self.candidates[n];
        candidate.machine.deadline().is_some_and(|deadline| self.world.local(&candidate.node) < deadline)
    }

    fn step(&mut self, n: usize) {
        let Self { world, server, candidates, .. } = self;
        let Candidate { machine, node, began } = &mut candidates[n];
        let now = world.local(node);
        world.arrive(node, |request| server.handle(request));
        let wall = world.wall();
        if world.tick < node.stalled_until {
            return;
        }
        let deadline = machine.deadline();
        machine.expire(now);
        let Some(call) = node.call.take() else {
            if now >= node.next {
                *began = now;
                let request = machine.attempt(wall);
                world.send(node, request);
            }
            return;
        };
        if deadline.is_some_and(|deadline| deadline <= now) {
            machine.abandon();
            node.next = now;
            return;
        }
        let timed_out = now >= call.sent + 5 * SECOND;
        if !timed_out && !world.has_returned(&call) {
            node.call = Some(call);
            return;
        }
        let response = if timed_out { Response::Failed } else { call.response.unwrap_or(Response::Failed) };
        let next = machine.respond(&call.request, response, call.sent, now, wall);
        node.next = machine.next_attempt(*began);
        if let Some(request) = next {
            world.send(node, request);
        }
    }
}

/// Runs one seed: 4 minutes with faults, and then without until one has to lead.
fn run(seed: u64, edits: bool) {
    let mut simulation = Simulation::new(seed);
    simulation.world.edits = edits;
    simulation.run(2400);
    simulation.world.end_faults(simulation.candidates.iter_mut().map(|candidate| &mut candidate.node));
    // Lease duration, retry period, and a call in flight.
    simulation.run(230);
    assert_eq!(simulation.overlaps, [] as [u64; 0], "seed {seed}: two candidates lead");
    assert!((0..simulation.candidates.len()).any(|n| simulation.leads(n)), "seed {seed}: none leads");
}

#[test]
fn two_candidates_never_lead_at_once_and_one_leads_soon_after_the_faults_end() {
    for_each_seed(SEEDS, Duration::from_secs(1), |seed| run(seed, false));
}

#[test]
fn two_candidates_lead_at_most_for_a_renew_deadline_after_people_have_edited_the_lease() {
    for_each_seed(SEEDS, Duration::from_secs(1), |seed| run(seed, true));
}

/// What the clock is for.
#[test]
fn two_candidates_lead_if_the_clock_of_a_suspended_machine_stands_still() {
    let overlaps = (0..100).map(|seed| {
        let mut simulation = Simulation::new(seed);
        simulation.world.clocks_count_suspension = false;
        simulation.run(2400);
        simulation.overlaps.len()
    });
    assert!(overlaps.sum::<usize>() > 0);
}

#[test]
fn a_new_leader_is_found_within_lease_duration_and_retry_period() {
    for seed in 0..100 {
        let mut simulation = Simulation::new(seed);
        simulation.world.faults = false;
        simulation.run(300);
        let leader = (0..simulation.candidates.len()).find(|n| simulation.leads(*n)).expect("one leads");
        simulation.candidates[leader].node.stalled_until = u64::MAX;
        // 15 s and 2 s, by clocks that are up to 5 % slow, and two calls of at most 0.6 s each.
        simulation.run(179 + 12 + 2);
        assert_eq!(simulation.overlaps, [] as [u64; 0], "seed {seed}");
        let leaders = (0..simulation.candidates.len()).filter(|n| *n != leader && simulation.leads(*n));
        assert_eq!(leaders.count(), 1, "seed {seed}");
    }
}
