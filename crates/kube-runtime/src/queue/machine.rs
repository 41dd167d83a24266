//! The queue machine: at most one entry per key, in order of due time, never two runs of one key at once.
//!
//! Guarantees, with `n` keys known:
//! - a key that was pushed is started at least once after the push (no lost updates): a push while the key runs makes
//!   it run again afterwards;
//! - a key that runs is never handed out a second time before [`Queue::finish`];
//! - several pushes of a waiting key are one run, at the earliest of their times;
//! - keys start in the order in which they became due;
//! - every operation costs O(log n) or less, and a key that neither waits nor runs costs nothing.

use ahash::AHashMap;
use std::{
    collections::{BTreeMap, VecDeque},
    hash::Hash,
};
use tokio::time::Instant;

/// A queue of keys `K`, each with what its pusher wants handed to the worker, `P`.
///
/// Time is an argument: the queue only compares instants. `K` is cloned a few times per entry, so make it cheap.
#[derive(Debug)]
pub(crate) struct Queue<K, P> {
    slots: AHashMap<K, Slot<P>>,
    /// Keys that wait for their time. The number keeps keys of one instant in the order of their pushes.
    timers: BTreeMap<(Instant, u64), K>,
    /// Keys whose time has come, oldest first.
    ready: VecDeque<K>,
    running: usize,
    limit: usize,
    sequence: u64,
}

/// What the queue knows about a key.
#[derive(Debug)]
enum Slot<P> {
    /// In `timers` under this due time and number.
    Waiting { due: Instant, number: u64, payload: P },
    /// In `ready`.
    Ready { payload: P },
    /// Handed out; nothing has happened since.
    Running,
    /// Handed out, and pushed again since.
    RunningAgain { due: Instant, payload: P },
}

impl<K: Eq + Hash + Clone, P> Queue<K, P> {
    /// An empty queue that hands out at most `limit` keys at a time; 0 stands for no limit.
    pub(crate) fn new(limit: u16) -> Self {
        Self {
            slots: AHashMap::new(),
            timers: BTreeMap::new(),
            ready: VecDeque::new(),
            running: 0,
            limit: if limit == 0 { usize::MAX } else { limit.into() },
            sequence: 0,
        }
    }

    /// Wants `key` to be worked on at `due`. Where the key waits already, the earlier of both requests stays.
    pub(crate) fn push(&mut self, key: K, payload: P, due: Instant, now: Instant) {
        match self.slots.get_mut(&key) {
            None => self.wait(key, payload, due, now),
            Some(Slot::Waiting { due: present, number, .. }) if due < *present => {
                let timer = (*present, *number);
                self.timers.remove(&timer);
                self.wait(key, payload, due, now);
            }
            Some(Slot::RunningAgain { due: present, .. }) if *present <= due => {}
            Some(slot @ (Slot::Running | Slot::RunningAgain { .. })) => {
                *slot = Slot::RunningAgain { due, payload }
            }
            Some(Slot::Waiting { .. } | Slot::Ready { .. }) => {}
        }
    }

    /// Hands out the key that has been due for longest, unless as many keys run as may.
    pub(crate) fn start(&mut self, now: Instant) -> Option<(K, P)> {
        self.promote(now);
        if self.running >= self.limit {
            return None;
        }
        let key = self.ready.pop_front()?;
        self.running += 1;
        Some(self.hand_out(key))
    }

    /// Like [`Queue::start`], passing over keys that `may_start` refuses. They stay first in line.
    ///
    /// Costs one call of `may_start` for each key that is due and refused.
    pub(crate) fn start_where(&mut self, now: Instant, may_start: impl Fn(&P) -> bool) -> Option<(K, P)> {
        self.promote(now);
        if self.running >= self.limit {
            return None;
        }
        let slots = &self.slots;
        let allowed = |key: &K| matches!(slots.get(key), Some(Slot::Ready { payload }) if may_start(payload));
        let position = self.ready.iter().position(allowed)?;
        let key = self.ready.remove(position).expect("invariant: the position was just found");
        self.running += 1;
        Some(self.hand_out(key))
    }

    /// Notes that the work on `key` is done. If it was pushed in the meantime it gets in line again.
    pub(crate) fn finish(&mut self, key: &K, now: Instant) {
        let Some((key, slot)) = self.slots.remove_entry(key) else { return };
        match slot {
            Slot::Running => self.running -= 1,
            Slot::RunningAgain { due, payload } => {
                self.running -= 1;
                self.wait(key, payload, due, now);
            }
            not_running => drop(self.slots.insert(key, not_running)),
        }
    }

    /// Forgets the keys that wait for a later time and for which `keep` does not hold. O(n).
    pub(crate) fn retain_waiting(&mut self, keep: impl Fn(&P) -> bool) {
        let slots = &mut self.slots;
        self.timers.retain(|_, key| {
            let kept = matches!(slots.get(key), Some(Slot::Waiting { payload, .. }) if keep(payload));
            if !kept {
                slots.remove(key);
            }
            kept
        });
    }

    /// When the next waiting key becomes due, after the `now` of the last start. `None` if no key waits for a time.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        self.timers.first_key_value().map(|((due, _), _)| *due)
    }

    /// How many keys are handed out.
    #[cfg(test)]
    pub(crate) fn running(&self) -> usize {
        self.running
    }

    /// Whether nothing waits and nothing runs.
    pub(crate) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    fn wait(&mut self, key: K, payload: P, due: Instant, now: Instant) {
        if due <= now {
            self.promote(now); // whatever became due earlier goes first
            self.ready.push_back(key.clone());
            self.slots.insert(key, Slot::Ready { payload });
        } else {
            let number = self.sequence;
            self.sequence += 1;
            self.timers.insert((due, number), key.clone());
            self.slots.insert(key, Slot::Waiting { due, number, payload });
        }
    }

    /// Moves every key that is due from the timers to the line.
    fn promote(&mut self, now: Instant) {
        while let Some(timer) = self.timers.first_entry().filter(|timer| timer.key().0 <= now) {
            let key = timer.remove();
            let slot = self.slots.get_mut(&key).expect("invariant: a timer belongs to a waiting key");
            let Slot::Waiting { payload, .. } = std::mem::replace(slot, Slot::Running) else {
                unreachable!("invariant: a timer belongs to a waiting key");
            };
            *slot = Slot::Ready { payload };
            self.ready.push_back(key);
        }
    }

    fn hand_out(&mut self, key: K) -> (K, P) {
        let slot = self.slots.get_mut(&key).expect("invariant: a key in line has a slot");
        let Slot::Ready { payload } = std::mem::replace(slot, Slot::Running) else {
            unreachable!("invariant: a key in line is ready");
        };
        (key, payload)
    }
}
