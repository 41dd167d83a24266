//! The queue machine: at most one entry per key, ordered by due time; a key never runs twice at once.
//!
//! Guarantees, where `n` is the number of keys known to the queue:
//! - No lost updates: a key is started at least once after each push. A push while the key runs marks it dirty, and it
//!   runs again afterwards.
//! - A running key is not taken again before [`Queue::finish`].
//! - Several pushes of a waiting key are one run, at the earliest of their due times and at the highest of their
//!   priorities.
//! - Changes start before background keys, except that every eighth start is a background key if one is due.
//! - Within a priority, keys start in the order in which they became due or were raised to that priority.
//! - With fair lanes, the last two hold within each lane; lanes are served in turn, and one that is at its limit delays no other. A key
//!   stays in the lane of the push that made it pending until it has run.
//! - Every operation costs O(log n) or less; with fair lanes, a start also O(lanes that are passed over for their running keys).
//!   A key that neither waits nor runs uses no memory.

use super::{
    fair::{FairLanes, LaneId, LaneNumbers},
    lanes::{Priority, PriorityLanes},
    ready::Ready,
    waiting::{Delayed, Place},
};
use crate::capacity::release;
use hashbrown::HashMap;
use std::{hash::Hash, time::Duration};
use tokio::time::Instant;

/// A queue of keys `K`, each with a payload `P` for the worker, in one line or in fair lanes with names `L`.
///
/// Time is an argument: the queue only compares instants. `K` is cloned a few times per entry, so it should be cheap to
/// clone.
#[derive(Debug)]
pub(crate) struct Queue<K, P, L = ()> {
    entries: HashMap<K, Entry<P>>,
    /// Keys that are not due yet.
    delayed: Delayed<K>,
    /// Keys that are due.
    ready: Ready<K, L>,
    running: usize,
    limit: usize,
    /// How many of these are for lanes of which no key runs, less one for each of which some does.
    reserve: usize,
    next_sequence: u64,
    /// How many keys became pending.
    adds: u64,
    last_wait: Duration,
}

/// The numbers of a queue at one time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct QueueNumbers {
    /// Keys that are due, by priority.
    pub(crate) changes: usize,
    pub(crate) background: usize,
    /// Keys that are not due yet.
    pub(crate) delayed: usize,
    /// Since when one of the next keys is due, or when the first delayed key becomes due.
    pub(crate) oldest_due: Option<Instant>,
    /// How many keys became pending so far. A push of a pending key does not count.
    pub(crate) adds: u64,
    /// The number of fair lanes with keys that wait or run.
    pub(crate) lanes: usize,
}

/// The state of a key.
#[derive(Debug)]
enum Entry<P> {
    /// In `delayed` under its due time and this sequence number.
    Delayed { pending: PendingEntry<P>, sequence: u64 },
    /// In `ready` under this sequence number.
    Ready { priority: Priority, lane: LaneId, sequence: u64, payload: P, since: Instant },
    /// Taken, and not pushed since.
    Running { lane: LaneId },
    /// Taken, and pushed since. It runs in another lane than it waits for, perhaps.
    Dirty { running_in: LaneId, pending: PendingEntry<P> },
}

/// One or more pushes of a key that has not started yet.
#[derive(Debug)]
struct PendingEntry<P> {
    due: Instant,
    priority: Priority,
    lane: LaneId,
    /// The payload of the push with the earliest due time.
    payload: P,
}

impl<K: Eq + Hash + Clone, P> Queue<K, P> {
    /// Schedules `key` for `due`. If the key is pending already, the earlier due time and the higher priority apply.
    pub(crate) fn push(&mut self, key: K, payload: P, due: Instant, priority: Priority, now: Instant) {
        self.push_in(|_| (), key, payload, due, priority, now);
    }
}

impl<K: Eq + Hash + Clone, P, L: Eq + Hash + Clone> Queue<K, P, L> {
    /// An empty queue with one line for all keys, and at most `limit` running keys; 0 means no limit.
    pub(crate) fn new(limit: u16) -> Self {
        Self::with(limit, Ready::OneLine(PriorityLanes::new()))
    }

    /// An empty queue with fair lanes, and at most `limit` running keys, of which `lane_limit` are of one lane; 0 means no limit.
    pub(crate) fn fair(limit: u16, lane_limit: u16) -> Self {
        Self::with(limit, Ready::Fair(Box::new(FairLanes::new(or_no_limit(lane_limit)))))
    }

    /// Keeps room for so many lanes: those of which keys run, and those of which none does yet. For the latter, always for a quarter.
    pub(crate) fn with_reserve(self, keys: u16) -> Self {
        Self { reserve: keys.into(), ..self }
    }

    fn with(limit: u16, ready: Ready<K, L>) -> Self {
        Self {
            entries: HashMap::new(),
            delayed: Delayed::new(),
            ready,
            running: 0,
            limit: or_no_limit(limit),
            reserve: 0,
            next_sequence: 0,
            adds: 0,
            last_wait: Duration::ZERO,
        }
    }

    /// Like [`push`](Queue::push), in the lane that `lane` returns. It is called with fair lanes only, and only if the key is not pending:
    /// a key that waits stays in its lane.
    pub(crate) fn push_in(
        &mut self,
        lane: impl FnOnce(&K) -> L,
        key: K,
        payload: P,
        due: Instant,
        priority: Priority,
        now: Instant,
    ) {
        self.promote_due(now); // from here on, no delayed key is due
        match self.entries.remove(&key) {
            None => {
                self.adds += 1;
                let lane = self.ready.join(|| lane(&key), now);
                self.schedule(key, PendingEntry { due, priority, lane, payload }, now);
            }
            Some(Entry::Delayed { pending, sequence }) => {
                let is_earlier = due < pending.due;
                let pending = pending.merge(due, priority, payload);
                if is_earlier {
                    self.schedule(key, pending, now);
                    self.delayed.outdate(is_current(&self.entries));
                } else {
                    self.entries.insert(key, Entry::Delayed { pending, sequence });
                }
            }
            Some(Entry::Ready { priority: present, lane, payload, since, .. }) if present < priority => {
                self.push_ready(key, PendingEntry { due: since, priority, lane, payload }, now);
                self.ready.outdate(lane, present, is_current(&self.entries));
            }
            Some(ready @ Entry::Ready { .. }) => drop(self.entries.insert(key, ready)),
            Some(Entry::Running { lane: running_in }) => {
                self.adds += 1;
                let lane = self.ready.join(|| lane(&key), now);
                let pending = PendingEntry { due, priority, lane, payload };
                self.entries.insert(key, Entry::Dirty { running_in, pending });
            }
            Some(Entry::Dirty { running_in, pending }) => {
                let pending = pending.merge(due, priority, payload);
                self.entries.insert(key, Entry::Dirty { running_in, pending });
            }
        }
    }

    /// Whether a key is due and the limit of running keys is not reached. Its lane may be at its own limit.
    pub(crate) fn has_due(&mut self, now: Instant) -> bool {
        self.promote_due(now);
        self.running < self.limit && self.ready.len() != (0, 0)
    }

    /// Takes the next key that is due, unless the limit of running keys is reached.
    pub(crate) fn start(&mut self, now: Instant) -> Option<(K, P)> {
        self.start_where(now, |_| true)
    }

    /// Like [`Queue::start`], skipping keys for which `may_start` does not hold. They keep their positions.
    ///
    /// Costs one call of `may_start` for each key that is skipped.
    pub(crate) fn start_where(&mut self, now: Instant, may_start: impl Fn(&P) -> bool) -> Option<(K, P)> {
        self.promote_due(now);
        if self.running >= self.limit {
            return None;
        }
        let entries = &self.entries;
        let allowed = |place: &Place<K>| match entries.get(&place.key) {
            Some(Entry::Ready { sequence, payload, .. }) => *sequence == place.sequence && may_start(payload),
            _ => false,
        };
        let key = self.ready.pop_where(now, self.most_of_a_lane(), allowed, is_current(entries))?;
        self.running += 1;
        Some(self.take(key, now))
    }

    /// Of a lane of which fewer keys run, one may start. Each lane that has one running needs no more of the reserve: with many of them, a
    /// key that never finishes stops no other of its lane.
    fn most_of_a_lane(&self) -> usize {
        let needed = self.reserve.saturating_sub(self.ready.running_lanes());
        let is_reserved = self.limit - self.running <= needed.max(self.reserve.div_ceil(4));
        if is_reserved { 1 } else { usize::MAX }
    }

    /// Marks the run of `key` as finished. A dirty key is scheduled again.
    pub(crate) fn finish(&mut self, key: &K, now: Instant) {
        let Some((key, entry)) = self.entries.remove_entry(key) else { return };
        match entry {
            Entry::Running { lane } => {
                self.stopped(lane, now);
                release(&mut self.entries);
            }
            Entry::Dirty { running_in, pending } => {
                self.stopped(running_in, now);
                self.promote_due(now); // keys that became due earlier go first
                self.schedule(key, pending, now);
            }
            not_running => drop(self.entries.insert(key, not_running)),
        }
    }

    /// Removes the delayed keys for which `keep` does not hold. It is passed the payload of the push with the earliest due time and the
    /// highest priority of all pushes of the key. O(n).
    pub(crate) fn retain_waiting(&mut self, keep: impl Fn(&P, Priority) -> bool) {
        let (entries, ready) = (&mut self.entries, &mut self.ready);
        self.delayed.retain(|place| match entries.get(&place.key) {
            Some(Entry::Delayed { pending, sequence }) if *sequence == place.sequence => {
                let (kept, lane) = (keep(&pending.payload, pending.priority), pending.lane);
                if !kept {
                    entries.remove(&place.key);
                    ready.leave(lane);
                }
                kept
            }
            _ => false,
        });
        release(&mut self.entries);
    }

    /// When the next delayed key becomes due, as of the `now` of the last start. `None` if no key is delayed.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        self.delayed.next_due()
    }

    /// The numbers of this queue. O(1).
    pub(crate) fn numbers(&self) -> QueueNumbers {
        let (changes, background) = self.ready.len();
        let oldest_ready = self.ready.next_keys().filter_map(|key| self.due_since(key));
        let oldest_due = oldest_ready.chain(self.next_due()).min();
        QueueNumbers {
            changes,
            background,
            delayed: self.delayed.len(),
            oldest_due,
            adds: self.adds,
            lanes: self.ready.count_lanes(),
        }
    }

    /// The fair lanes, in no order; `None` without any. O(number of lanes).
    pub(crate) fn lanes(&self) -> Option<impl Iterator<Item = LaneNumbers<'_, K, L>>> {
        self.ready.lanes()
    }

    /// Since when this key is due, if it is.
    pub(crate) fn due_since(&self, key: &K) -> Option<Instant> {
        match self.entries.get(key) {
            Some(Entry::Ready { since, .. }) => Some(*since),
            _ => None,
        }
    }

    /// How long the key that was started last had been due before.
    pub(crate) fn last_wait(&self) -> Duration {
        self.last_wait
    }

    /// The number of running keys.
    #[cfg(test)]
    pub(crate) fn running(&self) -> usize {
        self.running
    }

    /// Whether no key waits or runs.
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Adds an entry for a key that has none.
    fn schedule(&mut self, key: K, pending: PendingEntry<P>, now: Instant) {
        if pending.due <= now {
            self.push_ready(key, pending, now);
        } else {
            let sequence = self.next_sequence();
            self.delayed.push(key.clone(), sequence, pending.due);
            self.entries.insert(key, Entry::Delayed { pending, sequence });
        }
    }

    fn next_sequence(&mut self) -> u64 {
        self.next_sequence += 1;
        self.next_sequence
    }

    fn push_ready(&mut self, key: K, pending: PendingEntry<P>, now: Instant) {
        let PendingEntry { due: since, priority, lane, payload } = pending;
        let sequence = self.next_sequence();
        self.ready.push(lane, key.clone(), sequence, priority, now);
        self.entries.insert(key, Entry::Ready { priority, lane, sequence, payload, since });
    }

    /// A key that ran in this lane has no entry in it any more.
    fn stopped(&mut self, lane: LaneId, now: Instant) {
        self.running -= 1;
        self.ready.finished(lane, now);
        self.ready.leave(lane);
    }

    /// Moves every delayed key that is due to its lane.
    fn promote_due(&mut self, now: Instant) {
        while let Some(key) = self.delayed.pop_due(now, is_current(&self.entries)) {
            let Some(Entry::Delayed { pending, .. }) = self.entries.remove(&key) else {
                unreachable!("invariant: each key in `delayed` has a delayed entry");
            };
            self.push_ready(key, pending, now);
        }
    }

    fn take(&mut self, key: K, now: Instant) -> (K, P) {
        let entry = self.entries.get_mut(&key).expect("invariant: each key in a lane has an entry");
        let running = Entry::Running { lane: entry.lane() };
        let Entry::Ready { payload, since, .. } = std::mem::replace(entry, running) else {
            unreachable!("invariant: each key in a lane has a ready entry");
        };
        self.last_wait = now.saturating_duration_since(since);
        (key, payload)
    }
}

impl<P> Entry<P> {
    /// The lane in which the key runs, or else waits.
    fn lane(&self) -> LaneId {
        match self {
            Self::Delayed { pending, .. } => pending.lane,
            Self::Ready { lane, .. } | Self::Running { lane } | Self::Dirty { running_in: lane, .. } => *lane,
        }
    }
}

/// Whether the key is still in this place.
fn is_current<K: Eq + Hash, P>(entries: &HashMap<K, Entry<P>>) -> impl Fn(&Place<K>) -> bool {
    |place| match entries.get(&place.key) {
        Some(Entry::Delayed { sequence, .. } | Entry::Ready { sequence, .. }) => *sequence == place.sequence,
        Some(Entry::Running { .. } | Entry::Dirty { .. }) | None => false,
    }
}

fn or_no_limit(limit: u16) -> usize {
    if limit == 0 { usize::MAX } else { limit.into() }
}

impl<P> PendingEntry<P> {
    /// With another push: the highest priority, and due time and payload of the earliest, in the same lane.
    fn merge(mut self, due: Instant, priority: Priority, payload: P) -> Self {
        self.priority = self.priority.max(priority);
        if due < self.due {
            (self.due, self.payload) = (due, payload);
        }
        self
    }
}
