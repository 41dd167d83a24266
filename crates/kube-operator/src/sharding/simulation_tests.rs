//! Members in simulated time, with reconciles that take their time to stop, and Leases that people delete and edit. The faults are those of
//! [`World`].

use super::*;
use crate::sharding::rendezvous::PartitionBy;
use crate::simulation::{Call, Node, SEEDS, World, for_each_seed};

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
    node: Node<Request, Response>,
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

impl Process {
    fn is_stopping(&self, stopping: &Stopping, tick: u64, now: Instant) -> bool {
        stopping.until > tick && self.cancel_at.is_none_or(|cancel_at| now < cancel_at)
    }
}

struct Simulation {
    seed: u64,
    world: World,
    server: Server,
    processes: Vec<Process>,
    keys: Vec<u64>,
}

/// What a member has that does not know of an edit of its Lease: its renew deadline and the time to stop, by a clock that is 5 % slow.
const EXCUSE: u64 = 106 + 48;

impl Simulation {
    fn new(seed: u64, members: usize, keys: usize) -> Self {
        let keys = (0..keys).map(|n| PartitionBy::Object.hash(Some("default"), &n.to_string())).collect();
        let (world, server, processes) = (World::new(seed), Server::default(), Vec::new());
        let mut simulation = Self { seed, world, server, processes, keys };
        for n in 0..members {
            simulation.add(&n.to_string());
        }
        simulation
    }

    fn add(&mut self, identity: &str) {
        self.processes.push(Process {
            machine: member(identity),
            node: self.world.node(),
            assigned: Claims::default(),
            stopping: Vec::new(),
            cancel_at: None,
        });
    }

    fn run(&mut self, ticks: u64) {
        for _ in 0..ticks {
            self.world.tick += 1;
            if self.world.is_edited(EXCUSE) {
                self.edit();
            }
            let mut changed = false;
            for n in 0..self.processes.len() {
                let Self { world, server, processes, .. } = self;
                let process = &mut processes[n];
                if world.disturb(&mut process.node) {
                    process.machine = member(&format!("{n}-{}", world.tick));
                    process.assigned = Claims::default();
                    process.stopping.clear();
                }
                world.arrive(&mut process.node, |request| server.handle(request));
                changed |= self.step(n);
            }
            if changed && !self.world.is_excused() {
                self.check();
            }
        }
    }

    /// What a person does with kubectl.
    fn edit(&mut self) {
        let names: Vec<String> = self.server.leases.keys().cloned().collect();
        let Some(name) = self.world.rng.choice(names) else { return };
        match self.world.rng.u32(0..7) {
            0..2 => self.server.delete(&name),
            2 => self.server.edit(&name, |lease| lease.metadata.labels = None),
            3 => self.server.edit(&name, |lease| lease.metadata.annotations = None),
            4 => self.server.edit(&name, |lease| lease.spec.get_or_insert_default().holder_identity = None),
            5 => self
                .server
                .edit(&name, |lease| lease.spec.get_or_insert_default().lease_duration_seconds = Some(1)),
            _ => self.server.edit(&name, |lease| lease.spec = None),
        }
    }

    /// No key may be reconciled by two members.
    fn check(&self) {
        // A sample where there are many, because this runs at each step of a member.
        for key in self.keys.iter().step_by(self.keys.len().div_ceil(1000)) {
            let holders: Vec<usize> = (0..self.processes.len()).filter(|n| self.holds(*n, *key)).collect();
            assert!(
                holders.len() <= 1,
                "seed {}, tick {}: {holders:?} hold {key}",
                self.seed,
                self.world.tick
            );
        }
    }

    /// Whether a reconcile of `key` may run. Only a change of the assignment ends it, at the limit if it has one.
    fn holds(&self, n: usize, key: u64) -> bool {
        let (process, tick) = (&self.processes[n], self.world.tick);
        let now = self.world.local(&process.node);
        // The requests of a stalled process may be in flight until it would have cancelled its reconciles.
        let limit = process.machine.deadline().map(|deadline| deadline + TO_STOP);
        let stalled = tick < process.node.stalled_until && limit.is_some_and(|limit| limit <= now);
        !stalled
            && (process.assigned.include(key)
                || process
                    .stopping
                    .iter()
                    .any(|stopping| process.is_stopping(stopping, tick, now) && stopping.claims.include(key)))
    }

    fn owners(&self) -> Vec<Option<usize>> {
        let owner = |key: &u64| (0..self.processes.len()).find(|n| self.processes[*n].assigned.include(*key));
        self.keys.iter().map(owner).collect()
    }

    /// What the shell does. Returns whether anything happened.
    fn step(&mut self, n: usize) -> bool {
        let Self { world, processes, .. } = self;
        let process = &mut processes[n];
        let (tick, now, wall) = (world.tick, world.local(&process.node), world.wall());
        if tick < process.node.stalled_until {
            return false;
        }
        if let Some(call) = process.node.call.take() {
            // As the shell: a response that is there counts, however late it is looked at.
            let returned = world.has_returned(&call);
            let response = match call.response {
                Some(response) if returned => response,
                _ if process.machine.limit(call.sent) <= now => Response::Failed,
                response => {
                    process.node.call = Some(Call { response, ..call });
                    return false;
                }
            };
            match process.machine.respond(call.request, response, call.sent, now, wall) {
                Some(request) => world.send(&mut process.node, request),
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
        if process.stopping.is_empty() && process.machine.stopped() || process.node.next <= now {
            process.node.next = now + RETRY_PERIOD;
            let request = process.machine.attempt(wall);
            world.send(&mut process.node, request);
        }
        false
    }

    fn assign(&mut self, n: usize, now: Instant) {
        let until = self.world.tick + self.world.rng.u64(0..100);
        let process = &mut self.processes[n];
        if let Some(Change { claims, cancel_at }) = process.machine.assign(now) {
            let before = std::mem::replace(&mut process.assigned, claims);
            // As the shell, which waits for the reconciles of keys that are assigned no more, not for a change that takes away none.
            if self.keys.iter().any(|key| before.include(*key) && !process.assigned.include(*key)) {
                process.stopping.push(Stopping { claims: before, until });
            }
            process.cancel_at = cancel_at;
        }
    }

    fn end_faults(&mut self) {
        self.world.end_faults(self.processes.iter_mut().map(|process| &mut process.node));
    }
}

/// Runs one seed: 4 minutes with faults, and then without until every key has to have a member.
fn run(seed: u64, edits: bool) {
    let mut simulation = Simulation::new(seed, 2 + usize::try_from(seed % 4).unwrap(), 20);
    simulation.world.edits = edits;
    simulation.run(2400);
    simulation.end_faults();
    // A request that was lost times out, and the next attempt sees a Lease that has changed since: 9 s, by a slow clock. If its member is
    // gone, it expires and the next list shows that: 18 s more. Reconciles of 10 s end, the new view is published, and the others list it:
    // 14 s. What people have edited ends meanwhile: a member whose Lease it was stops everything and has joined anew after 17 s.
    simulation.run(450);
    let owners = simulation.owners();
    assert!(owners.iter().all(Option::is_some), "seed {seed}: keys without a member: {owners:?}");
    let joined = simulation.processes.iter().all(|process| !process.machine.members().is_empty());
    assert!(joined, "seed {seed}: every process is a member");
}

#[test]
fn no_key_has_two_members_and_each_has_one_soon_after_the_faults_end() {
    for_each_seed(SEEDS, Duration::from_secs(1), |seed| run(seed, false));
}

#[test]
fn a_key_has_two_members_at_most_for_a_while_after_people_have_edited_a_lease() {
    for_each_seed(SEEDS, Duration::from_secs(1), |seed| run(seed, true));
}

#[test]
fn members_that_come_and_go_move_their_share_of_100_000_keys() {
    let mut simulation = Simulation::new(1, 3, 100_000);
    simulation.world.faults = false;
    simulation.run(400);
    let settled = simulation.owners();
    assert!(settled.iter().all(Option::is_some));

    simulation.add("newcomer");
    simulation.run(400);
    let joined = simulation.owners();
    let moved: Vec<_> = settled.iter().zip(&joined).filter(|(before, after)| before != after).collect();
    assert!(moved.iter().all(|(_, after)| **after == Some(3)), "only to the newcomer");
    assert!(moved.len() > 22_500 && moved.len() < 27_500, "{}", moved.len());

    // A crash: within lease duration, retry period, and the time to publish, its keys have other members.
    simulation.processes[3].node.stalled_until = u64::MAX;
    simulation.run(400);
    let left: Vec<_> = (0..simulation.keys.len())
        .map(|key| (0..3).find(|n| simulation.processes[*n].assigned.include(simulation.keys[key])))
        .collect();
    assert_eq!(left, settled, "as if it had never been there");
}
