//! Keys that are due in fair lanes, such as one for each tenant: lanes are served in turn, by deficit round robin over worker time.
//!
//! In a round, each lane that can start a key does so, one after the other, until its keys have used a [`QUANTUM`] of worker time. That is
//! known afterwards only: at its next turn, a lane that has used more waits for as many rounds. Rounds in which nothing can start are
//! skipped. So lanes whose keys run long do not get more workers than lanes whose keys run briefly.
//!
//! While a lane waits for a later round, a lane that comes joins the next one: however many come, the present round ends. So a lane waits
//! for at most as many rounds as it owes, and in each of them for the lanes that were there at its beginning.
//!
//! A lane exists while any key refers to it. One that has nothing to start is not looked at, whatever the number of its keys.

use super::{
    lanes::{Priority, PriorityLanes},
    waiting::Place,
};
use crate::capacity::release;
use hashbrown::HashMap;
use std::{collections::BTreeMap, hash::Hash, time::Duration};
use tokio::time::Instant;

/// The worker time of a lane in a round.
const QUANTUM: Duration = Duration::from_millis(QUANTUM_MILLIS);
const QUANTUM_MILLIS: u64 = 10;

/// The most that a lane owes, so that what was long ago does not count for ever.
const MOST_OWED: Duration = Duration::from_secs(5);

/// Names a lane in the entries of a queue. Not used again while any entry has it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(super) struct LaneId(u32);

/// The lanes with the names `L`.
#[derive(Debug)]
pub(super) struct FairLanes<K, L> {
    lanes: HashMap<LaneId, FairLane<K, L>>,
    by_name: HashMap<L, LaneId>,
    /// The lanes that can start a key, in order of their turns: those with keys that are due and not at their limit.
    turns: BTreeMap<Turn, LaneId>,
    next_turn: u64,
    /// The present round. Only grows.
    round: u64,
    /// How many keys of one lane run at most.
    lane_limit: usize,
    /// The number of lanes of which keys run.
    running: usize,
    changes: usize,
    background: usize,
    last_id: u32,
}

/// The place of a lane among the turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Turn {
    /// It stays, whatever the lane uses while it waits: a key that hangs does not keep the others of its lane from their turn.
    round: u64,
    /// Within a round, in the order in which lanes came to it.
    number: u64,
}

#[derive(Debug)]
struct FairLane<K, L> {
    name: L,
    keys: PriorityLanes<K>,
    /// How many entries refer to it: delayed, due and running ones.
    members: usize,
    running: usize,
    /// Whether it is in `turns`.
    has_turn: bool,
    /// The worker time that it has used, from the first round on; what other lanes used while it had nothing to start counts as its own.
    used: Duration,
    /// Until when its running keys are part of that.
    settled: Instant,
}

/// One lane as it is now.
#[derive(Debug)]
pub(crate) struct LaneNumbers<'a, K, L> {
    pub(crate) name: &'a L,
    /// Its keys that are due.
    pub(crate) due: usize,
    pub(crate) running: usize,
    /// The first key of each priority.
    pub(crate) first: [Option<&'a K>; 2],
}

impl<K, L: Eq + Hash + Clone> FairLanes<K, L> {
    /// No lanes. `lane_limit` is the maximum of running keys in each.
    pub(super) fn new(lane_limit: usize) -> Self {
        Self {
            lanes: HashMap::new(),
            by_name: HashMap::new(),
            turns: BTreeMap::new(),
            next_turn: 0,
            round: 0,
            lane_limit,
            running: 0,
            changes: 0,
            background: 0,
            last_id: 0,
        }
    }

    /// One more entry refers to this lane, which is made if there is none.
    pub(super) fn join(&mut self, name: L, now: Instant) -> LaneId {
        let id = match self.by_name.get(&name) {
            Some(id) => *id,
            None => {
                let id = self.free_id();
                self.by_name.insert(name.clone(), id);
                self.lanes.insert(id, FairLane::new(name, now));
                id
            }
        };
        self.lane(id).members += 1;
        id
    }

    /// One entry less refers to this lane, which ends with the last one.
    pub(super) fn leave(&mut self, id: LaneId) {
        let lane = self.lane(id);
        lane.members -= 1;
        if lane.members > 0 {
            return;
        }
        // Without keys it has no turn.
        if let Some(lane) = self.lanes.remove(&id) {
            self.by_name.remove(&lane.name);
        }
        release(&mut self.lanes);
        release(&mut self.by_name);
    }

    /// A key of this lane is due.
    pub(super) fn push(&mut self, id: LaneId, key: K, sequence: u64, priority: Priority, now: Instant) {
        *self.due(priority) += 1;
        self.lane(id).keys.push(key, sequence, priority);
        self.arrive(id, now);
    }

    /// A key left its place in this lane.
    pub(super) fn outdate(&mut self, id: LaneId, priority: Priority, is_current: impl Fn(&Place<K>) -> bool) {
        *self.due(priority) -= 1;
        self.lane(id).keys.outdate(priority, is_current);
    }

    /// Takes the next key for which `allowed` holds: of the lane whose turn it is, and of which fewer keys run than `below`. O(log lanes),
    /// and for each lane without such a key.
    pub(super) fn pop_where(
        &mut self,
        now: Instant,
        below: usize,
        allowed: impl Fn(&Place<K>) -> bool,
        is_current: impl Fn(&Place<K>) -> bool,
    ) -> Option<K> {
        let mut passed = Vec::new();
        let started = loop {
            let Some((turn, id)) = self.turns.pop_first() else { break None };
            let lane = self.lane(id);
            if lane.running >= below {
                passed.push((turn, id));
                continue;
            }
            let before = lane.keys.len();
            let Some(key) = lane.keys.pop_where(&allowed, &is_current) else {
                passed.push((turn, id));
                continue;
            };
            let after = lane.keys.len();
            let is_first = lane.running == 0;
            lane.started(now);
            lane.has_turn = false;
            self.running += usize::from(is_first);
            self.changes -= before.0 - after.0;
            self.background -= before.1 - after.1;
            self.round = self.round.max(turn.round);
            self.queue_up(id, self.round, now);
            break Some(key);
        };
        self.turns.extend(passed);
        started
    }

    /// A key of this lane does not run any more. Its entry still refers to the lane.
    pub(super) fn finished(&mut self, id: LaneId, now: Instant) {
        let lane = self.lane(id);
        lane.settle(now);
        lane.running -= 1;
        let was_last = lane.running == 0;
        self.running -= usize::from(was_last);
        self.arrive(id, now);
    }

    /// The number of changes and of background keys that are due.
    pub(super) fn len(&self) -> (usize, usize) {
        (self.changes, self.background)
    }

    /// The first key of each priority, of the lane whose turn is next.
    pub(super) fn next_keys(&self) -> impl Iterator<Item = &K> {
        let next = self.turns.values().next().and_then(|id| self.lanes.get(id));
        next.into_iter().flat_map(|lane| lane.keys.first_of_lanes())
    }

    /// Of how many lanes keys run.
    pub(super) fn running_lanes(&self) -> usize {
        self.running
    }

    /// How many lanes there are.
    pub(super) fn count_lanes(&self) -> usize {
        self.lanes.len()
    }

    /// All lanes, in no order. O(number of lanes).
    pub(super) fn numbers(&self) -> impl Iterator<Item = LaneNumbers<'_, K, L>> {
        self.lanes.values().map(|lane| {
            let (changes, background) = lane.keys.len();
            let mut first = lane.keys.first_of_lanes();
            let first = [first.next(), first.next()];
            LaneNumbers { name: &lane.name, due: changes + background, running: lane.running, first }
        })
    }

    /// A lane comes to those that wait, unless it has a turn.
    fn arrive(&mut self, id: LaneId, now: Instant) {
        let some_owe = self.turns.last_key_value().is_some_and(|(last, _)| last.round > self.round);
        self.queue_up(id, self.round + u64::from(some_owe), now);
    }

    /// Gives a lane that can start a key the last turn of its round, which is `earliest` or a later one, unless it has a turn.
    fn queue_up(&mut self, id: LaneId, earliest: u64, now: Instant) {
        let (limit, round, number) = (self.lane_limit, self.round, self.next_turn);
        let lane = self.lane(id);
        if lane.has_turn || !lane.can_start(limit) {
            return;
        }
        lane.settle(now);
        let present = Duration::from_millis(QUANTUM_MILLIS.saturating_mul(round));
        lane.used = lane.used.clamp(present, present.saturating_add(MOST_OWED));
        lane.has_turn = true;
        let turn = Turn { round: lane.round(now).max(earliest), number };
        self.next_turn += 1;
        self.turns.insert(turn, id);
    }

    fn lane(&mut self, id: LaneId) -> &mut FairLane<K, L> {
        self.lanes.get_mut(&id).expect("invariant: a lane exists while an entry refers to it")
    }

    fn due(&mut self, priority: Priority) -> &mut usize {
        match priority {
            Priority::Change => &mut self.changes,
            Priority::Background => &mut self.background,
        }
    }

    fn free_id(&mut self) -> LaneId {
        loop {
            self.last_id = self.last_id.wrapping_add(1);
            let id = LaneId(self.last_id);
            if !self.lanes.contains_key(&id) {
                return id;
            }
        }
    }
}

impl<K, L> FairLane<K, L> {
    fn new(name: L, now: Instant) -> Self {
        Self {
            name,
            keys: PriorityLanes::new(),
            members: 0,
            running: 0,
            has_turn: false,
            used: Duration::ZERO,
            settled: now,
        }
    }

    fn can_start(&self, limit: usize) -> bool {
        self.running < limit && self.keys.len() != (0, 0)
    }

    /// The round in which it may start its next key.
    fn round(&mut self, now: Instant) -> u64 {
        self.settle(now);
        u64::try_from(self.used.as_nanos() / QUANTUM.as_nanos()).unwrap_or(u64::MAX)
    }

    fn started(&mut self, now: Instant) {
        self.settle(now);
        self.running += 1;
        self.keys.release_if_empty();
    }

    /// Adds the time that its keys have been running since the last call.
    fn settle(&mut self, now: Instant) {
        let running = u32::try_from(self.running).unwrap_or(u32::MAX);
        let worked = now.saturating_duration_since(self.settled).saturating_mul(running);
        self.used = self.used.saturating_add(worked);
        self.settled = self.settled.max(now);
    }
}

#[cfg(test)]
#[path = "fair_tests.rs"]
mod tests;
