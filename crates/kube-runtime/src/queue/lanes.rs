//! Keys that are due: two lanes, first in, first out in each; neither lane starves.

use std::collections::BTreeMap;
use tokio::time::Instant;

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

/// Keys in the order in which they are taken. One type for keys that are due and for those that are not, since each type of map is
/// compiled into each program.
pub(super) type Waiting<K> = BTreeMap<Position, K>;

/// A place among keys that wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Position {
    /// When the key becomes due; `None` in a lane.
    pub(super) due: Option<Instant>,
    /// Keeps keys in push order.
    pub(super) sequence: u64,
}

impl Position {
    fn in_lane(sequence: u64) -> Self {
        Self { due: None, sequence }
    }
}

/// The two lanes. A sequence number identifies each key in them. All operations cost O(log n).
#[derive(Debug)]
pub(super) struct PriorityLanes<K> {
    changes: Waiting<K>,
    background: Waiting<K>,
    next_sequence: u64,
    /// How many changes were taken since the last background key, while background keys were waiting.
    consecutive_changes: u32,
}

impl<K> PriorityLanes<K> {
    pub(super) fn new() -> Self {
        Self { changes: Waiting::new(), background: Waiting::new(), next_sequence: 0, consecutive_changes: 0 }
    }

    /// Appends `key` to its lane. Returns the sequence number for [`PriorityLanes::remove`].
    pub(super) fn push(&mut self, key: K, priority: Priority) -> u64 {
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        self.lane(priority).insert(Position::in_lane(sequence), key);
        sequence
    }

    /// Removes a key from its lane.
    pub(super) fn remove(&mut self, priority: Priority, sequence: u64) -> Option<K> {
        self.lane(priority).remove(&Position::in_lane(sequence))
    }

    /// Removes and returns the first key for which `allowed` holds. Keys that are skipped keep their positions.
    pub(super) fn pop_where(&mut self, allowed: impl Fn(&K) -> bool) -> Option<K> {
        let order = if self.consecutive_changes < MAX_CONSECUTIVE_CHANGES {
            [Priority::Change, Priority::Background]
        } else {
            [Priority::Background, Priority::Change]
        };
        let first = |lane: &Waiting<K>| {
            lane.iter().find(|(_, key)| allowed(key)).map(|(position, _)| position.sequence)
        };
        let (priority, sequence) =
            order.into_iter().find_map(|priority| Some((priority, first(self.lane(priority))?)))?;
        self.consecutive_changes = if priority == Priority::Background || self.background.is_empty() {
            0
        } else {
            self.consecutive_changes + 1
        };
        self.remove(priority, sequence)
    }

    /// The numbers of changes and of background keys.
    pub(super) fn len(&self) -> (usize, usize) {
        (self.changes.len(), self.background.len())
    }

    /// The first key of each lane that has one.
    pub(super) fn first_of_lanes(&self) -> impl Iterator<Item = &K> {
        [&self.changes, &self.background].into_iter().filter_map(|lane| Some(lane.first_key_value()?.1))
    }

    fn lane(&mut self, priority: Priority) -> &mut Waiting<K> {
        match priority {
            Priority::Change => &mut self.changes,
            Priority::Background => &mut self.background,
        }
    }
}
