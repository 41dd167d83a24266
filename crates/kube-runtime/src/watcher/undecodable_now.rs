//! The objects of one watch that cannot be decoded now, for monitors and metrics.

use super::{CollectionEvent, error::ErasedResult, undecodable::UndecodableObject};
use crate::capacity::release;
use hashbrown::HashMap;
use kube_core::Resource;
use tokio::time::Instant;

/// The objects that exist and whose last state cannot be decoded. No I/O, no clock.
///
/// Uses memory for these objects only; an event costs nothing while there are none, and O(1) else.
#[derive(Debug, Default)]
pub(crate) struct UndecodableNow {
    objects: HashMap<Key, Undecodable>,
    /// The number of lists that have started.
    list_generation: u32,
}

/// Namespace and name.
type Key = (Option<Box<str>>, Box<str>);

/// An object that cannot be decoded: why, and since when.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Undecodable {
    pub(crate) namespace: Option<Box<str>>,
    pub(crate) name: Box<str>,
    pub(crate) at: Instant,
    pub(crate) error: Box<str>,
    /// The generation in which the object was last seen.
    list_generation: u32,
}

/// What a step has changed.
#[derive(Debug, Default, PartialEq)]
pub(super) struct UndecodableStep {
    /// How many states could not be decoded.
    pub(super) errors: u64,
    /// By how much the number of objects has changed.
    pub(super) objects: i64,
    /// The last error.
    pub(super) last_error: Option<String>,
}

impl UndecodableNow {
    pub(super) fn step<K: Resource>(
        &mut self,
        emitted: &[ErasedResult<CollectionEvent<K>>],
        now: Instant,
    ) -> UndecodableStep {
        let before = self.len();
        let mut step = UndecodableStep::default();
        for event in emitted.iter().flatten() {
            match event {
                CollectionEvent::Init => self.list_generation = self.list_generation.wrapping_add(1),
                CollectionEvent::Undecodable(object) if !object.deleted => {
                    step.errors += 1;
                    step.last_error = Some(format!("{object} cannot be decoded: {}", object.error));
                    let (namespace, name) = key_of(object);
                    let undecodable = Undecodable {
                        namespace: namespace.clone(),
                        name: name.clone(),
                        at: now,
                        error: object.error.as_str().into(),
                        list_generation: self.list_generation,
                    };
                    self.objects.insert((namespace, name), undecodable);
                }
                _ if self.objects.is_empty() => {}
                CollectionEvent::Undecodable(object) => self.remove(&key_of(object)),
                CollectionEvent::Apply(object)
                | CollectionEvent::InitApply(object)
                | CollectionEvent::Delete(object) => {
                    let meta = object.meta();
                    let name = meta.name.as_deref().unwrap_or_default().into();
                    self.remove(&(meta.namespace.as_deref().map(Into::into), name));
                }
                CollectionEvent::Synced { .. } => {
                    let generation = self.list_generation;
                    self.objects.retain(|_, object| object.list_generation == generation);
                    release(&mut self.objects);
                }
                CollectionEvent::Progress { .. } | CollectionEvent::Closed => {}
            }
        }
        step.objects = self.len() - before;
        step
    }

    /// All of them, in no particular order.
    pub(super) fn objects(&self) -> Vec<Undecodable> {
        self.objects.values().cloned().collect()
    }

    pub(super) fn len(&self) -> i64 {
        i64::try_from(self.objects.len()).unwrap_or(i64::MAX)
    }

    fn remove(&mut self, key: &Key) {
        self.objects.remove(key);
        release(&mut self.objects);
    }
}

fn key_of(object: &UndecodableObject) -> Key {
    (object.namespace.as_deref().map(Into::into), object.name.as_str().into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::core::v1::ConfigMap;

    fn undecodable(name: &str, deleted: bool) -> CollectionEvent<ConfigMap> {
        CollectionEvent::Undecodable(UndecodableObject {
            deleted,
            ..UndecodableObject::named(None, name, "odd")
        })
    }

    fn readable(name: &str) -> ConfigMap {
        let mut object = ConfigMap::default();
        object.metadata.name = Some(name.into());
        object
    }

    #[test]
    fn an_object_counts_until_it_can_be_decoded_or_is_gone() {
        let mut now = UndecodableNow::default();
        let mut step = |events: Vec<CollectionEvent<ConfigMap>>| {
            let events: Vec<_> = events.into_iter().map(Ok).collect();
            let step = now.step(&events, Instant::now());
            (step.errors, step.objects, step.last_error)
        };
        let error = |name: &str| Some(format!("{name} cannot be decoded: odd"));
        let synced = || CollectionEvent::Synced { resource_version: "1".into() };
        let list = vec![CollectionEvent::Init, undecodable("a", false), undecodable("b", false), synced()];
        assert_eq!(step(list), (2, 2, error("b")));
        assert_eq!(step(vec![undecodable("a", false)]), (1, 0, error("a")));
        assert_eq!(step(vec![CollectionEvent::Apply(readable("a"))]), (0, -1, None));
        assert_eq!(step(vec![undecodable("b", true)]), (0, -1, None));
        assert_eq!(step(vec![undecodable("c", false), undecodable("d", false)]), (2, 2, error("d")));
        assert_eq!(step(vec![CollectionEvent::Delete(readable("c"))]), (0, -1, None));
        assert_eq!(step(vec![CollectionEvent::Init]), (0, 0, None), "until the list is complete");
        assert_eq!(step(vec![CollectionEvent::InitApply(readable("e")), synced()]), (0, -1, None));
        assert_eq!(now.len(), 0);
    }

    #[test]
    fn objects_that_can_be_decoded_again_take_little_memory() {
        let (mut now, t) = (UndecodableNow::default(), Instant::now());
        let memory = allocation_counter::measure(|| {
            for name in (0..10_000).map(|number| number.to_string()) {
                now.step(&[Ok(undecodable(&name, false))], t);
            }
            for name in (0..10_000).map(|number| number.to_string()) {
                now.step(&[Ok(CollectionEvent::Apply(readable(&name)))], t);
            }
        });
        assert!(now.len() == 0 && memory.bytes_current < 20_000, "{memory:?}");
    }
}
