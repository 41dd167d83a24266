//! Keys whose time has come: two lines, first come first served in each, neither left waiting for ever.

use std::collections::BTreeMap;

/// After so many changes in a row, one of the background keys that wait goes first.
const CHANGES_IN_A_ROW: u32 = 7;

/// Which line a key stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Urgency {
    /// There is no news about it: it was there at the start, or somebody wants to look at it again.
    Background,
    /// Something changed.
    Change,
}

/// The two lines. Keys are told apart by the numbers they are given. All operations cost O(log n).
#[derive(Debug)]
pub(super) struct Lines<K> {
    changes: BTreeMap<u64, K>,
    background: BTreeMap<u64, K>,
    sequence: u64,
    /// How many changes went first since a background key had its turn, while such keys were waiting.
    row: u32,
}

impl<K> Lines<K> {
    pub(super) fn new() -> Self {
        Self { changes: BTreeMap::new(), background: BTreeMap::new(), sequence: 0, row: 0 }
    }

    /// Puts `key` at the end of its line. The number is for [`Lines::remove`].
    pub(super) fn push(&mut self, key: K, urgency: Urgency) -> u64 {
        let number = self.sequence;
        self.sequence += 1;
        self.line(urgency).insert(number, key);
        number
    }

    /// Takes a key out of its line.
    pub(super) fn remove(&mut self, urgency: Urgency, number: u64) -> Option<K> {
        self.line(urgency).remove(&number)
    }

    /// Takes the first key that `allowed` lets pass. Keys that are passed over keep their places.
    pub(super) fn pop_where(&mut self, allowed: impl Fn(&K) -> bool) -> Option<K> {
        let order = if self.row < CHANGES_IN_A_ROW {
            [Urgency::Change, Urgency::Background]
        } else {
            [Urgency::Background, Urgency::Change]
        };
        let first =
            |line: &BTreeMap<u64, K>| line.iter().find(|(_, key)| allowed(key)).map(|(number, _)| *number);
        let (urgency, number) =
            order.into_iter().find_map(|urgency| Some((urgency, first(self.line(urgency))?)))?;
        self.row =
            if urgency == Urgency::Background || self.background.is_empty() { 0 } else { self.row + 1 };
        self.remove(urgency, number)
    }

    fn line(&mut self, urgency: Urgency) -> &mut BTreeMap<u64, K> {
        match urgency {
            Urgency::Change => &mut self.changes,
            Urgency::Background => &mut self.background,
        }
    }
}
