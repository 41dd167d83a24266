//! The queue machine: at most one entry per key, in order of due time, never two runs of one key at once.
//!
//! Guarantees, with `n` keys known:
//! - a key that was pushed is started at least once after the push (no lost updates): a push while the key runs makes
//!   it run again afterwards;
//! - a key that runs is never handed out a second time before [`Queue::finish`];
//! - several pushes of a waiting key are one run, at the earliest of their times and as urgent as the most urgent;
//! - changes start before background keys, but for every eighth start, so that both get on;
//! - within each of the two, keys start in the order in which they became due (or urgent);
//! - every operation costs O(log n) or less, and a key that neither waits nor runs costs nothing.

use super::lines::{Lines, Urgency};
use ahash::AHashMap;
use std::{collections::BTreeMap, hash::Hash};
use tokio::time::Instant;

/// A queue of keys `K`, each with what its pusher wants handed to the worker, `P`.
///
/// Time is an argument: the queue only compares instants. `K` is cloned a few times per entry, so make it cheap.
#[derive(Debug)]
pub(crate) struct Queue<K, P> {
    slots: AHashMap<K, Slot<P>>,
    /// Keys that wait for their time. The number keeps keys of one instant in the order of their pushes.
    timers: BTreeMap<(Instant, u64), K>,
    /// Keys whose time has come.
    ready: Lines<K>,
    running: usize,
    limit: usize,
    sequence: u64,
}

/// What the queue knows about a key.
#[derive(Debug)]
enum Slot<P> {
    /// In `timers` under its due time and this number.
    Waiting { wish: Wish<P>, number: u64 },
    /// In `ready` under this number.
    Ready { urgency: Urgency, number: u64, payload: P },
    /// Handed out; nothing has happened since.
    Running,
    /// Handed out, and pushed again since.
    RunningAgain(Wish<P>),
}

/// What one or more pushes of a key want.
#[derive(Debug)]
struct Wish<P> {
    due: Instant,
    urgency: Urgency,
    /// Of the push that wants to be first.
    payload: P,
}

impl<K: Eq + Hash + Clone, P> Queue<K, P> {
    /// An empty queue that hands out at most `limit` keys at a time; 0 stands for no limit.
    pub(crate) fn new(limit: u16) -> Self {
        Self {
            slots: AHashMap::new(),
            timers: BTreeMap::new(),
            ready: Lines::new(),
            running: 0,
            limit: if limit == 0 { usize::MAX } else { limit.into() },
            sequence: 0,
        }
    }

    /// Wants `key` to be worked on at `due`. Where the key waits already, the earlier of both times and the higher of
    /// both urgencies stays.
    pub(crate) fn push(&mut self, key: K, payload: P, due: Instant, urgency: Urgency, now: Instant) {
        self.promote(now); // from here on, what waits for a time is not due
        let wish = Wish { due, urgency, payload };
        match self.slots.remove(&key) {
            None => self.wait(key, wish, now),
            Some(Slot::Waiting { wish: present, number }) => {
                if due < present.due {
                    self.timers.remove(&(present.due, number));
                    self.wait(key, present.and(wish), now);
                } else {
                    self.slots.insert(key, Slot::Waiting { wish: present.and(wish), number });
                }
            }
            Some(Slot::Ready { urgency: present, number, payload }) if present < urgency => {
                self.ready.remove(present, number);
                self.line_up(key, urgency, payload);
            }
            Some(ready @ Slot::Ready { .. }) => drop(self.slots.insert(key, ready)),
            Some(Slot::Running) => drop(self.slots.insert(key, Slot::RunningAgain(wish))),
            Some(Slot::RunningAgain(present)) => {
                self.slots.insert(key, Slot::RunningAgain(present.and(wish)));
            }
        }
    }

    /// Hands out the key whose turn it is, unless as many keys run as may.
    pub(crate) fn start(&mut self, now: Instant) -> Option<(K, P)> {
        self.start_where(now, |_| true)
    }

    /// Like [`Queue::start`], passing over keys that `may_start` refuses. They keep their places.
    ///
    /// Costs one call of `may_start` for each key that is due and refused.
    pub(crate) fn start_where(&mut self, now: Instant, may_start: impl Fn(&P) -> bool) -> Option<(K, P)> {
        self.promote(now);
        if self.running >= self.limit {
            return None;
        }
        let slots = &self.slots;
        let allowed =
            |key: &K| matches!(slots.get(key), Some(Slot::Ready { payload, .. }) if may_start(payload));
        let key = self.ready.pop_where(allowed)?;
        self.running += 1;
        Some(self.hand_out(key))
    }

    /// Notes that the work on `key` is done. If it was pushed in the meantime it gets in line again.
    pub(crate) fn finish(&mut self, key: &K, now: Instant) {
        let Some((key, slot)) = self.slots.remove_entry(key) else { return };
        match slot {
            Slot::Running => self.running -= 1,
            Slot::RunningAgain(wish) => {
                self.running -= 1;
                self.promote(now); // whatever became due earlier goes first
                self.wait(key, wish, now);
            }
            not_running => drop(self.slots.insert(key, not_running)),
        }
    }

    /// Forgets the keys that wait for a later time and for which `keep` does not hold. O(n).
    pub(crate) fn retain_waiting(&mut self, keep: impl Fn(&P) -> bool) {
        let slots = &mut self.slots;
        self.timers.retain(|_, key| {
            let kept = matches!(slots.get(key), Some(Slot::Waiting { wish, .. }) if keep(&wish.payload));
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

    /// Gives a key without a slot one.
    fn wait(&mut self, key: K, wish: Wish<P>, now: Instant) {
        if wish.due <= now {
            self.line_up(key, wish.urgency, wish.payload);
        } else {
            let number = self.sequence;
            self.sequence += 1;
            self.timers.insert((wish.due, number), key.clone());
            self.slots.insert(key, Slot::Waiting { wish, number });
        }
    }

    fn line_up(&mut self, key: K, urgency: Urgency, payload: P) {
        let number = self.ready.push(key.clone(), urgency);
        self.slots.insert(key, Slot::Ready { urgency, number, payload });
    }

    /// Moves every key that is due from the timers to its line.
    fn promote(&mut self, now: Instant) {
        while let Some(timer) = self.timers.first_entry().filter(|timer| timer.key().0 <= now) {
            let key = timer.remove();
            let Some(Slot::Waiting { wish, .. }) = self.slots.remove(&key) else {
                unreachable!("invariant: a timer belongs to a waiting key");
            };
            self.line_up(key, wish.urgency, wish.payload);
        }
    }

    fn hand_out(&mut self, key: K) -> (K, P) {
        let slot = self.slots.get_mut(&key).expect("invariant: a key in line has a slot");
        let Slot::Ready { payload, .. } = std::mem::replace(slot, Slot::Running) else {
            unreachable!("invariant: a key in line is ready");
        };
        (key, payload)
    }
}

impl<P> Wish<P> {
    /// Both wishes as one.
    fn and(self, other: Self) -> Self {
        let urgency = self.urgency.max(other.urgency);
        let first = if other.due < self.due { other } else { self };
        Self { urgency, ..first }
    }
}
