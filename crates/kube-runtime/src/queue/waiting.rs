//! Keys that wait, in order. A key that left its place is not searched for: its place becomes outdated, is skipped, and is removed when it
//! is the first or when more than half of the places are outdated. So the first place is never outdated, and memory stays bounded.

use crate::capacity::release;
use std::{
    cmp::Ordering,
    collections::{BinaryHeap, VecDeque},
};
use tokio::time::Instant;

/// The place of a key. Outdated once the key has another sequence number, or none.
#[derive(Debug)]
pub(super) struct Place<K> {
    pub(super) key: K,
    pub(super) sequence: u64,
}

/// Keys that are due: first in, first out.
#[derive(Debug)]
pub(super) struct Lane<K> {
    places: VecDeque<Place<K>>,
    outdated: usize,
}

impl<K> Lane<K> {
    pub(super) fn new() -> Self {
        Self { places: VecDeque::new(), outdated: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.places.len() - self.outdated
    }

    pub(super) fn first(&self) -> Option<&K> {
        self.places.front().map(|place| &place.key)
    }

    pub(super) fn push(&mut self, key: K, sequence: u64) {
        self.places.push_back(Place { key, sequence });
    }

    /// How many places precede the first one that `allowed` accepts.
    pub(super) fn find(&self, allowed: impl Fn(&Place<K>) -> bool) -> Option<usize> {
        self.places.iter().position(allowed)
    }

    /// Removes a place that [`find`](Self::find) returned.
    pub(super) fn remove(&mut self, at: usize, is_current: impl Fn(&Place<K>) -> bool) -> Option<K> {
        let place = self.places.remove(at)?;
        self.remove_outdated(is_current);
        Some(place.key)
    }

    /// One more place is outdated.
    pub(super) fn outdate(&mut self, is_current: impl Fn(&Place<K>) -> bool) {
        self.outdated += 1;
        self.remove_outdated(is_current);
    }

    /// Also gives memory back: that of the largest moment, such as a first list.
    fn remove_outdated(&mut self, is_current: impl Fn(&Place<K>) -> bool) {
        if self.outdated > self.places.len() / 2 {
            self.places.retain(&is_current);
            self.outdated = 0;
        }
        while self.outdated > 0 && self.places.front().is_some_and(|first| !is_current(first)) {
            self.places.pop_front();
            self.outdated -= 1;
        }
        release(&mut self.places);
    }
}

/// Keys that are due later: the earliest first, and of those the one that was pushed first.
#[derive(Debug)]
pub(super) struct Delayed<K> {
    places: BinaryHeap<DelayedPlace<K>>,
    outdated: usize,
}

impl<K> Delayed<K> {
    pub(super) fn new() -> Self {
        Self { places: BinaryHeap::new(), outdated: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.places.len() - self.outdated
    }

    pub(super) fn next_due(&self) -> Option<Instant> {
        self.places.peek().map(|first| first.due)
    }

    pub(super) fn push(&mut self, key: K, sequence: u64, due: Instant) {
        self.places.push(DelayedPlace { due, place: Place { key, sequence } });
    }

    pub(super) fn pop_due(&mut self, now: Instant, is_current: impl Fn(&Place<K>) -> bool) -> Option<K> {
        self.next_due().filter(|due| *due <= now)?;
        let first = self.places.pop()?;
        self.remove_outdated(is_current);
        Some(first.place.key)
    }

    /// One more place is outdated.
    pub(super) fn outdate(&mut self, is_current: impl Fn(&Place<K>) -> bool) {
        self.outdated += 1;
        self.remove_outdated(is_current);
    }

    /// Keeps only the places that `keep` accepts, which are not outdated.
    pub(super) fn retain(&mut self, mut keep: impl FnMut(&Place<K>) -> bool) {
        self.places.retain(|delayed| keep(&delayed.place));
        self.outdated = 0;
        release(&mut self.places);
    }

    fn remove_outdated(&mut self, is_current: impl Fn(&Place<K>) -> bool) {
        if self.outdated > self.places.len() / 2 {
            self.retain(is_current);
            return;
        }
        while self.outdated > 0 && self.places.peek().is_some_and(|first| !is_current(&first.place)) {
            self.places.pop();
            self.outdated -= 1;
        }
        release(&mut self.places);
    }
}

#[derive(Debug)]
struct DelayedPlace<K> {
    due: Instant,
    place: Place<K>,
}

/// The greatest is the first: the heap's order.
impl<K> Ord for DelayedPlace<K> {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.due, other.place.sequence).cmp(&(self.due, self.place.sequence))
    }
}

impl<K> PartialOrd for DelayedPlace<K> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<K> PartialEq for DelayedPlace<K> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<K> Eq for DelayedPlace<K> {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn outdated_places_are_at_most_half_of_a_lane_and_never_its_first() {
        let mut lane = Lane::new();
        (0..100).for_each(|sequence| lane.push(sequence, sequence));
        for outdated in 1..100_u64 {
            lane.outdate(|place| place.sequence >= outdated);
            assert_eq!((lane.len() as u64, lane.first()), (100 - outdated, Some(&outdated)));
        }
        assert_eq!(lane.places.len(), 1);
        (100..200).for_each(|sequence| lane.push(sequence, sequence));
        for outdated in (101..=200).rev() {
            lane.outdate(|place| place.sequence < outdated - 1);
            assert!(lane.places.len() <= 2 * lane.len() + 1, "{} places", lane.places.len());
        }
        assert_eq!(lane.len(), 1);
    }

    #[test]
    fn the_memory_of_many_places_is_freed_when_the_last_one_is_taken() {
        let (mut lane, mut delayed, now) = (Lane::new(), Delayed::new(), Instant::now());
        for sequence in 0..1000 {
            lane.push(sequence, sequence);
            delayed.push(sequence, sequence, now);
        }
        for _ in 0..1000 {
            lane.remove(0, |_| true).unwrap();
            delayed.pop_due(now, |_| true).unwrap();
        }
        assert!(lane.places.capacity() <= 64 && delayed.places.capacity() <= 64);
    }

    #[test]
    fn outdated_places_are_at_most_half_of_the_delayed_ones_and_never_the_first() {
        let (mut delayed, start) = (Delayed::new(), Instant::now());
        let due = |sequence| start + Duration::from_secs(sequence);
        (0..100).for_each(|sequence| delayed.push(sequence, sequence, due(sequence)));
        for outdated in 1..100_u64 {
            delayed.outdate(|place| place.sequence >= outdated);
            assert_eq!((delayed.len() as u64, delayed.next_due()), (100 - outdated, Some(due(outdated))));
        }
        assert_eq!(delayed.places.len(), 1);
        (100..200).for_each(|sequence| delayed.push(sequence, sequence, due(sequence)));
        for outdated in (101..=200).rev() {
            delayed.outdate(|place| place.sequence < outdated - 1);
            assert!(delayed.places.len() <= 2 * delayed.len() + 1, "{} places", delayed.places.len());
        }
        assert_eq!(delayed.pop_due(due(99), |place| place.sequence < 100), Some(99));
        assert_eq!((delayed.len(), delayed.next_due()), (0, None));
    }
}
