//! The stream adapter that drops changes that do not matter.

use super::Predicate;
use crate::{
    reflector::ObjectKey,
    unwind::{ObjectPanic, catch},
    watcher::Error,
};
use ahash::AHashMap;
use futures::{Stream, ready};
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

/// How long an object that is not seen is remembered, unless configured.
const DEFAULT_TTL: Duration = Duration::from_secs(60 * 60);

/// How a [`predicate_filter`](crate::WatchStreamExt::predicate_filter) remembers.
#[derive(Clone, Debug)]
pub struct PredicateConfig {
    ttl: Duration,
}

impl PredicateConfig {
    /// Forgets an object that has not been seen for so long; when it comes again, it passes. Default: one hour.
    ///
    /// This bounds the memory of the filter in a stream that does not tell of deletions.
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
    /// Passes an object on only if a property of it has changed.
    ///
    /// If the predicate panics, that is an error that names the object, which then passes: whether it matters is not known. Nor is
    /// it of the next state of an object that passed so, or without the property: it passes, too.
    ///
    /// Made by [`predicate_filter`](crate::WatchStreamExt::predicate_filter).
    #[must_use = "streams do nothing unless polled"]
    pub struct PredicateFilter<St, K: Resource, P: Predicate<K>> {
        #[pin]
        stream: St,
        predicate: P,
        memory: Memory,
        // What passes after the error about it.
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
        Self { stream, predicate, memory: Memory::new(config.ttl), next: None, kind: PhantomData }
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
            let Some(Ok(object)) = item else { return Poll::Ready(item) };
            let (property, panic) = match catch(|| this.predicate.hash_property(&object)) {
                Ok(property) => (property, None),
                Err(message) => (None, Some(message)),
            };
            let uid = object.meta().uid.as_deref().unwrap_or_default();
            let news = this.memory.is_news(ObjectKey::of(&object), uid, property, Instant::now());
            if let Some(message) = panic {
                let error = panicked(&object, message);
                *this.next = Some(object);
                return Poll::Ready(Some(Err(error)));
            }
            if news {
                return Poll::Ready(Some(Ok(object)));
            }
        }
    }
}

/// The kind is that of the Rust type: a filter knows no other.
fn panicked<K: Resource>(object: &K, message: String) -> Error {
    let kind = type_name::<K>();
    let kind = kind.rsplit_once("::").map_or(kind, |(_, kind)| kind);
    let meta = object.meta();
    let object = [&meta.namespace, &meta.name].into_iter().flatten().cloned().collect::<Vec<_>>().join("/");
    let panic = ObjectPanic { callback: "predicate", kind, object, message };
    Error::WatchFailed(kube_client::Error::Service(Box::new(panic)))
}

/// The last property of each object that was seen not too long ago. Every operation costs O(1) on average.
struct Memory {
    ttl: Duration,
    known: AHashMap<ObjectKey, Known>,
    /// Objects by the time they were last looked at, oldest first; each known object is in here once.
    visits: VecDeque<(Instant, ObjectKey)>,
}

struct Known {
    uid: Box<str>,
    /// `None` if it last passed in a state of which the property is not known.
    property: Option<u64>,
    seen: Instant,
}

impl Memory {
    fn new(ttl: Duration) -> Self {
        Self { ttl, known: AHashMap::new(), visits: VecDeque::new() }
    }

    /// Whether the property is not the one this object had when it was last seen, or is not known. An object of which it
    /// was never known costs nothing.
    fn is_news(&mut self, key: ObjectKey, uid: &str, property: Option<u64>, now: Instant) -> bool {
        self.forget_old(now);
        match self.known.get_mut(&key) {
            Some(known) => {
                known.seen = now;
                let same = property.is_some() && known.property == property && *known.uid == *uid;
                if !same {
                    known.property = property;
                    known.uid = uid.into();
                }
                !same
            }
            None => {
                if property.is_some() {
                    self.visits.push_back((now, key.clone()));
                    self.known.insert(key, Known { uid: uid.into(), property, seen: now });
                }
                true
            }
        }
    }

    fn forget_old(&mut self, now: Instant) {
        while let Some((visited, _)) = self.visits.front() {
            if now.duration_since(*visited) < self.ttl {
                break;
            }
            let Some((_, key)) = self.visits.pop_front() else { break };
            match self.known.get(&key).map(|known| known.seen) {
                Some(seen) if now.duration_since(seen) < self.ttl => self.visits.push_back((now, key)),
                _ => drop(self.known.remove(&key)),
            }
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
    fn passes_only_changes_of_the_property() {
        let same = || object("a", Some(1), None);
        assert_eq!(
            passing(vec![same(), same(), object("a", Some(2), None), same()], predicates::generation),
            3
        );
        assert_eq!(
            passing(vec![same(), object("b", Some(1), None)], predicates::generation),
            2,
            "each by itself"
        );
    }

    #[test]
    fn passes_what_lacks_the_property() {
        let objects = || vec![object("a", None, None), object("a", None, None)];
        assert_eq!(passing(objects(), predicates::generation), 2);
        assert_eq!(passing(objects(), predicates::generation.fallback(predicates::labels)), 1);
    }

    /// Once it has passed in a state of which the property is not known, a return to the former one is news.
    #[test]
    fn what_passed_without_a_property_is_not_remembered_by_its_former_one() {
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
    fn combined_properties_pass_when_either_changes() {
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
    fn forgets_what_it_has_not_seen_for_long() {
        let start = Instant::now();
        let minutes = |minutes: u64| start + Duration::from_secs(60 * minutes);
        let key = |name| ObjectKey::of(&object(name, None, None));
        let mut memory = Memory::new(Duration::from_secs(600));
        assert!(memory.is_news(key("kept"), "", Some(1), minutes(0)));
        assert!(memory.is_news(key("lost"), "", Some(1), minutes(0)));
        assert!(!memory.is_news(key("kept"), "", Some(1), minutes(8)));
        assert!(!memory.is_news(key("kept"), "", Some(1), minutes(12)));
        assert_eq!((memory.known.len(), memory.visits.len()), (1, 1));
        assert!(memory.is_news(key("lost"), "", Some(1), minutes(12)));
    }
}
