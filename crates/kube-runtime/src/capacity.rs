//! Collections give memory back after they were large.
//!
//! `tests/loom.rs` includes this file.

use hashbrown::{HashMap, HashSet};
use std::{
    collections::{BinaryHeap, VecDeque},
    hash::{BuildHasher, Hash},
};

/// Up to this capacity a collection keeps its memory.
const KEPT: usize = 64;

/// The capacity to shrink to, if less than a quarter of the present one is used.
///
/// Amortized O(1) for each removal: after it, at least half of the capacity is used.
pub(crate) fn shrunk(len: usize, capacity: usize) -> Option<usize> {
    (capacity > KEPT && len < capacity / 4).then(|| KEPT.max(2 * len))
}

/// Gives memory back if little of it is used. For after a removal.
pub(crate) fn release(collection: &mut impl Shrink) {
    collection.shrink();
}

/// A collection whose capacity can shrink.
pub(crate) trait Shrink {
    fn shrink(&mut self);
}

impl<K: Eq + Hash, V, S: BuildHasher> Shrink for HashMap<K, V, S> {
    fn shrink(&mut self) {
        if let Some(capacity) = shrunk(self.len(), self.capacity()) {
            self.shrink_to(capacity);
        }
    }
}

impl<T: Eq + Hash, S: BuildHasher> Shrink for HashSet<T, S> {
    fn shrink(&mut self) {
        if let Some(capacity) = shrunk(self.len(), self.capacity()) {
            self.shrink_to(capacity);
        }
    }
}

impl<T> Shrink for Vec<T> {
    fn shrink(&mut self) {
        if let Some(capacity) = shrunk(self.len(), self.capacity()) {
            self.shrink_to(capacity);
        }
    }
}

impl<T> Shrink for VecDeque<T> {
    fn shrink(&mut self) {
        if let Some(capacity) = shrunk(self.len(), self.capacity()) {
            self.shrink_to(capacity);
        }
    }
}

impl<T: Ord> Shrink for BinaryHeap<T> {
    fn shrink(&mut self) {
        if let Some(capacity) = shrunk(self.len(), self.capacity()) {
            self.shrink_to(capacity);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a collection of 10 000 elements takes after all but three were removed.
    fn left<C>(mut collection: C, insert: fn(&mut C, u64), remove: fn(&mut C, u64)) -> i64 {
        let memory = allocation_counter::measure(|| {
            (0..10_000).for_each(|number| insert(&mut collection, number));
            (3..10_000).for_each(|number| remove(&mut collection, number));
        });
        drop(collection);
        memory.bytes_current
    }

    #[test]
    fn an_emptied_collection_takes_little_memory() {
        let map = left(
            HashMap::<u64, u64>::new(),
            |map, number| {
                map.insert(number, number);
            },
            |map, number| {
                map.remove(&number);
                release(map);
            },
        );
        let set = left(
            HashSet::<u64>::new(),
            |set, number| {
                set.insert(number);
            },
            |set, number| {
                set.remove(&number);
                release(set);
            },
        );
        let deque = left(
            VecDeque::<u64>::new(),
            |deque, number| deque.push_back(number),
            |deque, _| {
                deque.pop_front();
                release(deque);
            },
        );
        let heap = left(
            BinaryHeap::<u64>::new(),
            |heap, number| heap.push(number),
            |heap, _| {
                heap.pop();
                release(heap);
            },
        );
        assert!([map, set, deque, heap].iter().all(|bytes| *bytes < 5_000), "{:?}", [map, set, deque, heap]);
    }
}
