//! The objects that were used last stay decoded, those of all caches of a kind together.

use quick_cache::{DefaultHashBuilder, OptionsBuilder, Weighter, sync::Cache, sync::DefaultLifecycle};
use std::{
    any::Any,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

/// The memory of the objects that stay decoded: at most this, at least [`MIN_BYTES`], and else a part of the JSON of all objects, so that
/// it does not outweigh what a small cache saves.
const MAX_BYTES: u64 = 16 << 20;
const MIN_BYTES: u64 = 256 << 10;
const SHARE: u64 = 8;
/// How many they are about, at most.
const OBJECTS: usize = 2048;
/// Parts with a lock each. An object that is larger than a part does not stay.
const SHARDS: usize = 4;
/// The memory of a typed object: its maps, and a multiple of its JSON.
const DECODED_MAPS: u64 = 3 << 10;
const DECODED_RATIO: u64 = 2;

/// Decoded objects, by the ids of the kept ones.
pub(super) struct RecentObjects {
    objects: Cache<u64, Decoded, Weight>,
    limit: AtomicU64,
    /// The JSON of all objects of the caches, as far as these have [counted](RecentOfCache::count) it.
    json_bytes: AtomicU64,
    caches: AtomicU64,
}

#[derive(Clone)]
struct Decoded {
    object: Arc<dyn Any + Send + Sync>,
    cache: u64,
    weight: u64,
}

#[derive(Clone)]
struct Weight;

impl Weighter<u64, Decoded> for Weight {
    fn weight(&self, _: &u64, decoded: &Decoded) -> u64 {
        decoded.weight
    }
}

impl Default for RecentObjects {
    fn default() -> Self {
        let mut options = OptionsBuilder::new();
        options.shards(SHARDS).estimated_items_capacity(OBJECTS).weight_capacity(MAX_BYTES);
        let options = options.build().expect("invariant: both capacities are set");
        let (hasher, lifecycle) = (DefaultHashBuilder::default(), DefaultLifecycle::default());
        let objects = Cache::with_options(options, Weight, hasher, lifecycle);
        objects.set_capacity(MIN_BYTES); // what it remembers of objects that have gone is in proportion
        Self {
            objects,
            limit: AtomicU64::new(MIN_BYTES),
            json_bytes: AtomicU64::new(0),
            caches: AtomicU64::new(0),
        }
    }
}

impl RecentObjects {
    /// Changes what a cache has counted from the former to the latter.
    fn count(&self, before: u64, after: u64) {
        let change = after.wrapping_sub(before);
        let json_bytes = self.json_bytes.fetch_add(change, Ordering::Relaxed).wrapping_add(change);
        let limit = (json_bytes / SHARE).clamp(MIN_BYTES, MAX_BYTES).next_power_of_two();
        if self.limit.swap(limit, Ordering::Relaxed) != limit {
            self.objects.set_capacity(limit);
        }
    }
}

/// What a cache has there. Nothing is left of it when this is dropped.
pub(super) struct RecentOfCache {
    all: Arc<RecentObjects>,
    cache: u64,
    json_bytes: AtomicU64,
}

/// The same by the type of the objects. A trait, because what reads a store does not know that they can be sent to other threads.
pub(super) trait Recent<K>: Send + Sync {
    /// The object with this id.
    fn get(&self, id: u64) -> Option<Arc<K>>;

    /// Keeps an object for a while, whose JSON has this length.
    fn add(&self, id: u64, object: &Arc<K>, json_len: usize);

    /// The cache has about so many bytes of JSON.
    fn count(&self, json_bytes: u64);
}

impl RecentOfCache {
    pub(super) fn new(all: Arc<RecentObjects>) -> Self {
        let cache = all.caches.fetch_add(1, Ordering::Relaxed);
        Self { all, cache, json_bytes: AtomicU64::new(0) }
    }
}

/// The memory of a typed object whose JSON has this length, about.
fn weight_of(json_len: usize) -> u64 {
    DECODED_MAPS + DECODED_RATIO * json_len as u64
}

impl<K: Send + Sync + 'static> Recent<K> for RecentOfCache {
    fn get(&self, id: u64) -> Option<Arc<K>> {
        self.all.objects.get(&id)?.object.downcast().ok()
    }

    fn add(&self, id: u64, object: &Arc<K>, json_len: usize) {
        let object: Arc<dyn Any + Send + Sync> = Arc::<K>::clone(object);
        self.all.objects.insert(id, Decoded { object, cache: self.cache, weight: weight_of(json_len) });
    }

    fn count(&self, json_bytes: u64) {
        self.all.count(self.json_bytes.swap(json_bytes, Ordering::Relaxed), json_bytes);
    }
}

impl Drop for RecentOfCache {
    fn drop(&mut self) {
        // Objects of the program are dropped without a lock.
        let of_cache = self.all.objects.iter().filter(|(_, decoded)| decoded.cache == self.cache);
        let ids: Vec<u64> = of_cache.map(|(id, _)| id).collect();
        ids.iter().for_each(|id| drop(self.all.objects.remove(id)));
        self.all.count(*self.json_bytes.get_mut(), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::core::v1::ConfigMap;

    fn decode(recent: &dyn Recent<u64>, ids: std::ops::Range<u64>, json_len: usize) {
        ids.for_each(|id| recent.add(id, &Arc::new(id), json_len));
    }

    #[test]
    fn the_objects_that_stay_decoded_are_limited_by_their_bytes() {
        let all = Arc::<RecentObjects>::default();
        let [one, other] = [0, 1].map(|_| RecentOfCache::new(Arc::clone(&all)));
        let (one, other): (&dyn Recent<u64>, &dyn Recent<u64>) = (&one, &other);
        one.count(1 << 40);
        decode(one, 0..200, 100_000);
        let (kept, weight) = (all.objects.len() as u64, all.objects.weight());
        assert!((60..=84).contains(&kept), "{kept} of 200 objects, each 200 KB decoded");
        assert!(weight <= MAX_BYTES && weight == kept * weight_of(100_000), "{weight} bytes");
        // Both caches have one limit.
        other.count(8 << 20);
        one.count(0);
        assert_eq!(all.objects.capacity(), 1 << 20);
        decode(other, 200..400, 100_000);
        assert!(all.objects.weight() <= 1 << 20, "{} bytes", all.objects.weight());
        assert!(other.get(399).is_some_and(|object| *object == 399), "a large one stays in a small cache");
    }

    /// A map of 2 KB and a large one, with managed fields as kubectl writes them.
    #[test]
    fn what_an_object_weighs_is_about_its_memory() {
        for text in [1_500, 100_000] {
            let json = format!(
                r#"{{"metadata":{{"name":"map-1","namespace":"default","uid":"0c6c1f0a-9b1e-4d6e-8f3a-000000000001",
                "labels":{{"app":"shop","number":"1"}},"managedFields":[{{"manager":"kubectl","operation":"Update","fieldsV1":
                {{"f:data":{{".":{{}},"f:text":{{}}}},"f:metadata":{{"f:labels":{{".":{{}},"f:app":{{}}}}}}}}}}]}},
                "data":{{"text":"{}"}}}}"#,
                "t".repeat(text)
            );
            let mut decoded = None;
            let counted = allocation_counter::measure(|| {
                decoded = Some(serde_json::from_str::<ConfigMap>(&json).unwrap());
            });
            let part = counted.bytes_current as f64 / weight_of(json.len()) as f64;
            assert!((0.4..1.3).contains(&part), "{part} of {}", weight_of(json.len()));
        }
    }

    #[test]
    fn nothing_is_left_of_a_cache_that_is_gone() {
        let all = Arc::<RecentObjects>::default();
        let [gone, rest] = [0, 1].map(|_| RecentOfCache::new(Arc::clone(&all)));
        Recent::<u64>::count(&gone, 1 << 40);
        decode(&gone, 0..50, 1_000);
        decode(&rest, 50..60, 1_000);
        drop(gone);
        assert_eq!((all.objects.len(), all.objects.capacity()), (10, MIN_BYTES));
        assert!((50..60).all(|id| Recent::<u64>::get(&rest, id).is_some()));
    }
}
