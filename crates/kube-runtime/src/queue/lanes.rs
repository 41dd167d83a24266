//! Keys that are due, by priority: two lanes, first in, first out in each; neither lane starves.

use super::waiting::{Lane, Place};

/// After this many changes in a row, a waiting background key goes first, so that changes cannot starve the background.
const MAX_CONSECUTIVE_CHANGES: u32 = 7;

/// The lane of a key. A higher priority compares as greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Priority {
    /// Nothing changed: the key is from the initial list, a relist, a requeue or a resync.
    Background,
    /// Something changed.
    Change,
}

/// The two lanes.
#[derive(Debug)]
pub(super) struct PriorityLanes<K> {
    changes: Lane<K>,
    background: Lane<K>,
    /// How many changes were taken since the last background key, while background keys were waiting.
    consecutive_changes: u32,
}

impl<K> PriorityLanes<K> {
    pub(super) fn new() -> Self {
        Self { changes: Lane::new(), background: Lane::new(), consecutive_changes: 0 }
    }

    /// Appends `key` to its lane.
    pub(super) fn push(&mut self, key: K, sequence: u64, priority: Priority) {
        self.lane(priority).push(key, sequence);
    }

    /// A key left its place in this lane.
    pub(super) fn outdate(&mut self, priority: Priority, is_current: impl Fn(&Place<K>) -> bool) {
        self.lane(priority).outdate(is_current);
    }

    /// Removes and returns the first key for which `allowed` holds. Keys that are skipped keep their places. Costs time
    /// proportional to the skipped ones.
    pub(super) fn pop_where(
        &mut self,
        allowed: impl Fn(&Place<K>) -> bool,
        is_current: impl Fn(&Place<K>) -> bool,
    ) -> Option<K> {
        let order = if self.consecutive_changes < MAX_CONSECUTIVE_CHANGES {
            [Priority::Change, Priority::Background]
        } else {
            [Priority::Background, Priority::Change]
        };
        let (priority, at) =
            order.into_iter().find_map(|priority| Some((priority, self.lane(priority).find(&allowed)?)))?;
        self.consecutive_changes = if priority == Priority::Background || self.background.len() == 0 {
            0
        } else {
            self.consecutive_changes + 1
        };
        self.lane(priority).remove(at, is_current)
    }

    /// Gives all memory back once no key is left, for those that have many of these. The share of the background goes on.
    pub(super) fn release_if_empty(&mut self) {
        if self.len() == (0, 0) {
            (self.changes, self.background) = (Lane::new(), Lane::new());
        }
    }

    /// The number of changes and of background keys.
    pub(super) fn len(&self) -> (usize, usize) {
        (self.changes.len(), self.background.len())
    }

    /// The first key of each lane.
    pub(super) fn first_of_lanes(&self) -> impl Iterator<Item = &K> {
        [&self.changes, &self.background].into_iter().filter_map(Lane::first)
    }

    fn lane(&mut self, priority: Priority) -> &mut Lane<K> {
        match priority {
            Priority::Change => &mut self.changes,
            Priority::Background => &mut self.background,
        }
    }
}
