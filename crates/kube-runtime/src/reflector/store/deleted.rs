//! Deleted objects that a store keeps for a while.

use crate::{
    capacity::release,
    reflector::{Lookup, ObjectKey},
};
use hashbrown::HashMap;
use parking_lot::Mutex;
use std::{
    collections::VecDeque,
    sync::{Arc, OnceLock},
    time::Duration,
};
use tokio::time::Instant;

/// So many entries are never too many.
const MIN_ENTRIES: usize = 16;

/// The deleted objects of a store, if it keeps any.
pub(super) struct DeletedObjects<K>(OnceLock<Mutex<Graveyard<K>>>);

/// Keeps deleted objects for a time. Pure.
struct Graveyard<K> {
    grace: Duration,
    objects: HashMap<ObjectKey, (Instant, Arc<K>)>,
    /// When each was deleted, the oldest first.
    order: VecDeque<(Instant, ObjectKey)>,
}

impl<K> Default for DeletedObjects<K> {
    fn default() -> Self {
        Self(OnceLock::new())
    }
}

impl<K: Lookup> DeletedObjects<K> {
    /// Keeps them from now on, for this time.
    pub(super) fn keep(&self, grace: Duration) {
        let empty = Graveyard { grace, objects: HashMap::new(), order: VecDeque::new() };
        drop(self.0.set(Mutex::new(empty)));
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.0.get().map_or(0, |kept| kept.lock().objects.len())
    }

    /// Whether deleted objects are kept.
    pub(super) fn are_kept(&self) -> bool {
        self.0.get().is_some()
    }

    /// Keeps the last state of a deleted object.
    pub(super) fn add(&self, last: &Arc<K>) {
        let Some(kept) = self.0.get() else { return };
        let replaced = kept.lock().add(ObjectKey::of(&**last), Arc::clone(last), Instant::now());
        drop(replaced); // without the lock: `K::drop` is user code
        self.forget_old();
    }

    /// Forgets those whose time is over.
    pub(super) fn forget_old(&self) {
        let Some(kept) = self.0.get() else { return };
        let old = kept.lock().take_old(Instant::now());
        drop(old); // without the lock
    }

    pub(super) fn get(&self, key: &ObjectKey) -> Option<Arc<K>> {
        self.0.get()?.lock().get(key, Instant::now())
    }
}

impl<K> Graveyard<K> {
    fn add(&mut self, key: ObjectKey, last: Arc<K>, now: Instant) -> Option<(Instant, Arc<K>)> {
        self.order.push_back((now, key.clone()));
        let replaced = self.objects.insert(key, (now, last));
        // Names that are deleted again and again have an entry each: as many as there are objects stay.
        if self.order.len() > 2 * self.objects.len().max(MIN_ENTRIES) {
            self.order
                .retain(|(deleted, key)| self.objects.get(key).is_some_and(|(latest, _)| latest == deleted));
        }
        replaced
    }

    fn get(&self, key: &ObjectKey, now: Instant) -> Option<Arc<K>> {
        let (deleted, last) = self.objects.get(key)?;
        (!self.is_old(*deleted, now)).then(|| Arc::clone(last))
    }

    fn take_old(&mut self, now: Instant) -> Vec<Arc<K>> {
        let mut old = Vec::new();
        while self.order.front().is_some_and(|(deleted, _)| is_over(*deleted, self.grace, now)) {
            let Some((deleted, key)) = self.order.pop_front() else { break };
            // Another object with this name was deleted later.
            if self.objects.get(&key).is_some_and(|(latest, _)| *latest == deleted) {
                old.extend(self.objects.remove(&key).map(|(_, last)| last));
            }
        }
        release(&mut self.order);
        release(&mut self.objects);
        old
    }

    fn is_old(&self, deleted: Instant, now: Instant) -> bool {
        is_over(deleted, self.grace, now)
    }
}

fn is_over(deleted: Instant, grace: Duration, now: Instant) -> bool {
    now.saturating_duration_since(deleted) >= grace
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::core::v1::ConfigMap;

    #[test]
    fn a_name_that_is_deleted_again_and_again_has_few_entries() {
        let mut graveyard =
            Graveyard { grace: Duration::MAX, objects: HashMap::new(), order: VecDeque::new() };
        let (map, begin) = (Arc::new(ConfigMap::default()), Instant::now());
        for at in 0..1000 {
            drop(graveyard.add(ObjectKey::of(&*map), Arc::clone(&map), begin + Duration::from_secs(at)));
        }
        assert_eq!(graveyard.objects.len(), 1);
        assert!(graveyard.order.len() <= 2 * MIN_ENTRIES, "{}", graveyard.order.len());
        let (latest, _) = graveyard.order.back().unwrap();
        assert_eq!(*latest, begin + Duration::from_secs(999), "the last one counts");
    }
}
