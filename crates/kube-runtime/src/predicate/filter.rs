//! The stream adapter that drops objects whose property has not changed.

use super::Predicate;
use crate::{
    capacity::release,
    reflector::ObjectKey,
    unwind::{ObjectPanic, catch_panic},
    watcher::Error,
};
use futures::{Stream, ready};
use hashbrown::HashMap;
use kube_core::Resource;
use pin_project_lite::pin_project;
use std::{
    any::type_name,
    collections::VecDeque,
    marker::PhantomData,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};
use tokio::time::Instant;

/// The default of [`PredicateConfig::ttl`].
const DEFAULT_TTL: Duration = Duration::from_secs(60 * 60);

/// Configures the cache of a [`predicate_filter`](crate::WatchStreamExt::predicate_filter).
#[derive(Clone, Debug)]
pub struct PredicateConfig {
    ttl: Duration,
}

impl PredicateConfig {
    /// How long the property of an object is cached after the stream last had the object. After that, the object passes
    /// again. Default: one hour.
    ///
    /// This bounds the memory of the filter, as the stream does not report deletions.
    ///
    /// ```
    /// use kube_runtime::PredicateConfig;
    /// use std::time::Duration;
    ///
    /// let _config = PredicateConfig::default().ttl(Duration::from_secs(10 * 60));
    /// ```
    #[must_use]
    pub fn ttl(self, ttl: Duration) -> Self {
        Self { ttl }
    }
}

impl Default for PredicateConfig {
    fn default() -> Self {
        Self { ttl: DEFAULT_TTL }
    }
}

pin_project! {
    /// Passes an object only if its property has changed.
    ///
    /// If the predicate panics, the stream has an error that names the object, and then the object itself, because the
    /// change may matter. After a panic, and after a state without the property, the next state of the object passes too.
    ///
    /// Made by [`predicate_filter`](crate::WatchStreamExt::predicate_filter).
    #[must_use = "streams do nothing unless polled"]
    pub struct PredicateFilter<St, K: Resource, P: Predicate<K>> {
        #[pin]
        stream: St,
        predicate: P,
        cache: PropertyCache,
        // The object that passes after the error about it.
        next: Option<K>,
        kind: PhantomData<fn(K)>,
    }
}

impl<St, K, P> PredicateFilter<St, K, P>
where
    St: Stream<Item = Result<K, Error>>,
    K: Resource,
    P: Predicate<K>,
{
    pub(crate) fn new(stream: St, predicate: P, config: PredicateConfig) -> Self {
        Self { stream, predicate, cache: PropertyCache::new(config.ttl), next: None, kind: PhantomData }
    }
}

impl<St, K, P> Stream for PredicateFilter<St, K, P>
where
    St: Stream<Item = Result<K, Error>>,
    K: Resource,
    P: Predicate<K>,
{
    type Item = Result<K, Error>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut this = self.project();
        if let Some(object) = this.next.take() {
            return Poll::Ready(Some(Ok(object)));
        }
        loop {
            let item = ready!(this.stream.as_mut().poll_next(cx));
            let object = match item {
                Some(Ok(object)) => object,
                Some(Err(error)) => {
                    if error.is_storage_went_back() {
                        // Equal properties, such as generations, do not mean equal objects any more.
                        *this.cache = PropertyCache::new(this.cache.ttl);
                    }
                    return Poll::Ready(Some(Err(error)));
                }
                None => return Poll::Ready(None),
            };
            let (property, panic) = match catch_panic(|| this.predicate.hash_property(&object)) {
                Ok(property) => (property, None),
                Err(message) => (None, Some(message)),
            };
            let uid = object.meta().uid.as_deref().unwrap_or_default();
            let changed = this.cache.update(ObjectKey::of(&object), uid, property, Instant::now());
            if let Some(message) = panic {
                let error = predicate_panicked(&object, message);
                *this.next = Some(object);
                return Poll::Ready(Some(Err(error)));
            }
            if changed {
                return Poll::Ready(Some(Ok(object)));
            }
        }
    }
}

/// Takes the kind from the name of the Rust type, as a filter has no dynamic type.
fn predicate_panicked<K: Resource>(object: &K, message: String) -> Error {
    let kind = type_name::<K>();
    let kind = kind.rsplit_once("::").map_or(kind, |(_, kind)| kind);
    let meta = object.meta();
    let object = [&meta.namespace, &meta.name].into_iter().flatten().cloned().collect::<Vec<_>>().join("/");
    let panic = ObjectPanic { callback: "predicate", kind, object, message };
    Error::WatchFailed(kube_client::Error::Service(Box::new(panic)))
}

/// The last property of each object that was seen within the TTL. Every operation costs O(1) amortized.
struct PropertyCache {
    ttl: Duration,
    entries: HashMap<ObjectKey, CachedProperty>,
    /// Each cached object once, with the time of its last expiry check, oldest first.
    expiry_queue: VecDeque<(Instant, ObjectKey)>,
}

struct CachedProperty {
    uid: Box<str>,
    /// `None` if the last state has no property or the predicate panicked: then the next state passes.
    property: Option<u64>,
    last_seen: Instant,
}

impl PropertyCache {
    fn new(ttl: Duration) -> Self {
        Self { ttl, entries: HashMap::new(), expiry_queue: VecDeque::new() }
    }

    /// Caches `property`. Returns whether it differs from the cached one, which includes that either is unknown. An object
    /// whose property was never known is not cached.
    fn update(&mut self, key: ObjectKey, uid: &str, property: Option<u64>, now: Instant) -> bool {
        self.expire(now);
        match self.entries.get_mut(&key) {
            Some(entry) => {
                entry.last_seen = now;
                let same = property.is_some() && entry.property == property && *entry.uid == *uid;
                if !same {
                    entry.property = property;
                    entry.uid = uid.into();
                }
                !same
            }
            None => {
                if property.is_some() {
                    self.expiry_queue.push_back((now, key.clone()));
                    self.entries.insert(key, CachedProperty { uid: uid.into(), property, last_seen: now });
                }
                true
            }
        }
    }

    fn expire(&mut self, now: Instant) {
        while let Some((checked, _)) = self.expiry_queue.front() {
            if now.duration_since(*checked) < self.ttl {
                break;
            }
            let Some((_, key)) = self.expiry_queue.pop_front() else { break };
            match self.entries.get(&key).map(|entry| entry.last_seen) {
                Some(seen) if now.duration_since(seen) < self.ttl => self.expiry_queue.push_back((now, key)),
                _ => drop(self.entries.remove(&key)),
            }
            release(&mut self.entries);
            release(&mut self.expiry_queue);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::predicate::predicates;
    use futures::{StreamExt, executor::block_on, stream};
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube_core::ObjectMeta;

    fn object(name: &str, generation: Option<i64>, finalizer: Option<&str>) -> ConfigMap {
        let metadata = ObjectMeta {
            name: Some(name.into()),
            generation,
            finalizers: finalizer.map(|finalizer| vec![finalizer.into()]),
            ..Default::default()
        };
        ConfigMap { metadata, ..Default::default() }
    }

    fn passing(objects: Vec<ConfigMap>, predicate: impl Predicate<ConfigMap>) -> usize {
        let stream = stream::iter(objects.into_iter().map(Ok));
        block_on(PredicateFilter::new(stream, predicate, PredicateConfig::default()).count())
    }

    #[test]
    fn an_object_passes_only_if_its_property_changed() {
        let same = || object("a", Some(1), None);
        assert_eq!(
            passing(vec![same(), same(), object("a", Some(2), None), same()], predicates::generation),
            3
        );
        assert_eq!(
            passing(vec![same(), object("b", Some(1), None)], predicates::generation),
            2,
            "each object is compared with its own last state"
        );
    }

    #[test]
    fn an_object_without_the_property_always_passes() {
        let objects = || vec![object("a", None, None), object("a", None, None)];
        assert_eq!(passing(objects(), predicates::generation), 2);
        assert_eq!(passing(objects(), predicates::generation.fallback(predicates::labels)), 1);
    }

    #[test]
    fn a_state_without_a_known_property_replaces_the_cached_property() {
        let state = |generation| object("a", generation, None);
        assert_eq!(passing(vec![state(Some(1)), state(None), state(Some(1))], predicates::generation), 3);
        let panicking = |object: &ConfigMap| {
            assert_ne!(object.metadata.generation, Some(0), "cannot read it");
            predicates::generation(object)
        };
        let errors = 1;
        assert_eq!(passing(vec![state(Some(1)), state(Some(0)), state(Some(1))], panicking), 3 + errors);
    }

    #[test]
    fn combined_predicates_pass_when_either_property_changes() {
        let objects = || {
            vec![object("a", Some(1), None), object("a", Some(1), Some("f")), object("a", Some(2), Some("f"))]
        };
        assert_eq!(passing(objects(), predicates::generation), 2);
        assert_eq!(passing(objects(), predicates::generation.combine(predicates::finalizers)), 3);
    }

    #[test]
    fn a_recreated_object_passes() {
        let with_uid = |uid: &str| {
            let mut object = object("a", Some(1), None);
            object.metadata.uid = Some(uid.into());
            object
        };
        assert_eq!(passing(vec![with_uid("1"), with_uid("1"), with_uid("2")], predicates::generation), 2);
    }

    #[test]
    fn objects_not_seen_within_the_ttl_are_dropped_from_the_cache() {
        let start = Instant::now();
        let minutes = |minutes: u64| start + Duration::from_secs(60 * minutes);
        let key = |name| ObjectKey::of(&object(name, None, None));
        let mut cache = PropertyCache::new(Duration::from_secs(600));
        assert!(cache.update(key("kept"), "", Some(1), minutes(0)));
        assert!(cache.update(key("lost"), "", Some(1), minutes(0)));
        assert!(!cache.update(key("kept"), "", Some(1), minutes(8)));
        assert!(!cache.update(key("kept"), "", Some(1), minutes(12)));
        assert_eq!((cache.entries.len(), cache.expiry_queue.len()), (1, 1));
        assert!(cache.update(key("lost"), "", Some(1), minutes(12)));
    }

    #[test]
    fn properties_that_expired_take_little_memory() {
        const TTL: Duration = Duration::from_secs(600);
        let start = Instant::now();
        let objects: Vec<_> = (0..10_000).map(|number| object(&number.to_string(), None, None)).collect();
        let mut cache = PropertyCache::new(TTL);
        let mut observe_all = |now| {
            for object in &objects {
                cache.update(ObjectKey::of(object), "the-uid-of-the-object", Some(1), now);
            }
        };
        let full =
            allocation_counter::measure(|| (0..4).for_each(|round| observe_all(start + TTL * round / 2)));
        assert!(full.bytes_current > 1_000_000, "{full:?}");
        let expired = allocation_counter::measure(|| {
            let last = &objects[0];
            cache.update(ObjectKey::of(last), "", Some(1), start + TTL * 3);
        });
        assert_eq!(cache.entries.len(), 1);
        assert!(full.bytes_current + expired.bytes_current < 20_000, "{full:?}, {expired:?}");
    }
}
