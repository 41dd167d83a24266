//! The keys that are due, in the order in which they start: one line for all, or fair lanes.

use super::{
    fair::{FairLanes, LaneId, LaneNumbers},
    lanes::{Priority, PriorityLanes},
    waiting::Place,
};
use std::hash::Hash;
use tokio::time::Instant;

/// The order in which keys that are due start.
#[derive(Debug)]
pub(super) enum Ready<K, L> {
    /// All keys in one line: their lane is the default one and costs nothing.
    OneLine(PriorityLanes<K>),
    Fair(Box<FairLanes<K, L>>),
}

impl<K, L: Eq + Hash + Clone> Ready<K, L> {
    /// One more entry belongs to the lane that `name` returns.
    pub(super) fn join(&mut self, name: impl FnOnce() -> L, now: Instant) -> LaneId {
        match self {
            Self::OneLine(_) => LaneId::default(),
            Self::Fair(lanes) => lanes.join(name(), now),
        }
    }

    /// An entry that belonged to this lane has ended.
    pub(super) fn leave(&mut self, lane: LaneId) {
        if let Self::Fair(lanes) = self {
            lanes.leave(lane);
        }
    }

    /// A key of this lane is due.
    pub(super) fn push(&mut self, lane: LaneId, key: K, sequence: u64, priority: Priority, now: Instant) {
        match self {
            Self::OneLine(keys) => keys.push(key, sequence, priority),
            Self::Fair(lanes) => lanes.push(lane, key, sequence, priority, now),
        }
    }

    /// A key left its place in this lane.
    pub(super) fn outdate(
        &mut self,
        lane: LaneId,
        priority: Priority,
        is_current: impl Fn(&Place<K>) -> bool,
    ) {
        match self {
            Self::OneLine(keys) => keys.outdate(priority, is_current),
            Self::Fair(lanes) => lanes.outdate(lane, priority, is_current),
        }
    }

    /// Removes and returns the next key for which `allowed` holds, with fair lanes of one in which fewer keys run than `below`. Keys that
    /// are skipped keep their places.
    pub(super) fn pop_where(
        &mut self,
        now: Instant,
        below: usize,
        allowed: impl Fn(&Place<K>) -> bool,
        is_current: impl Fn(&Place<K>) -> bool,
    ) -> Option<K> {
        match self {
            Self::OneLine(keys) => keys.pop_where(allowed, is_current),
            Self::Fair(lanes) => lanes.pop_where(now, below, allowed, is_current),
        }
    }

    /// A key of this lane does not run any more.
    pub(super) fn finished(&mut self, lane: LaneId, now: Instant) {
        if let Self::Fair(lanes) = self {
            lanes.finished(lane, now);
        }
    }

    /// The number of changes and of background keys.
    pub(super) fn len(&self) -> (usize, usize) {
        match self {
            Self::OneLine(keys) => keys.len(),
            Self::Fair(lanes) => lanes.len(),
        }
    }

    /// The keys of which one starts next.
    pub(super) fn next_keys(&self) -> impl Iterator<Item = &K> {
        let (one_line, fair) = match self {
            Self::OneLine(keys) => (Some(keys.first_of_lanes()), None),
            Self::Fair(lanes) => (None, Some(lanes.next_keys())),
        };
        one_line.into_iter().flatten().chain(fair.into_iter().flatten())
    }

    /// Of how many fair lanes keys run.
    pub(super) fn running_lanes(&self) -> usize {
        match self {
            Self::OneLine(_) => 0,
            Self::Fair(lanes) => lanes.running_lanes(),
        }
    }

    /// How many fair lanes there are.
    pub(super) fn count_lanes(&self) -> usize {
        match self {
            Self::OneLine(_) => 0,
            Self::Fair(lanes) => lanes.count_lanes(),
        }
    }

    /// All fair lanes; `None` if there is one line.
    pub(super) fn lanes(&self) -> Option<impl Iterator<Item = LaneNumbers<'_, K, L>>> {
        match self {
            Self::OneLine(_) => None,
            Self::Fair(lanes) => Some(lanes.numbers()),
        }
    }
}
