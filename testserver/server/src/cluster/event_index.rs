//! The Events that were recorded, by the identity of their notes: a repetition is found without a search.

use std::collections::HashMap;

use crate::storage::Key;

/// As many Events are known by their notes; a repetition of an older one is a new Event.
const REMEMBERED: usize = 4096;

/// The Events that were recorded, by the identity of their notes.
#[derive(Debug, Default)]
pub(super) struct EventIndex(HashMap<u64, Key>);

impl EventIndex {
    pub(super) fn get(&self, identity: u64) -> Option<&Key> {
        self.0.get(&identity)
    }

    pub(super) fn remember(&mut self, identity: u64, event: Key) {
        if self.0.len() >= REMEMBERED {
            self.0.clear();
        }
        self.0.insert(identity, event);
    }
}
