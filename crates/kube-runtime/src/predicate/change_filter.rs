//! Which changes of objects matter to a controller.

use super::{Predicate, predicates::hash};
use crate::{capacity::release, reflector::ObjectKey, unwind::catch_panic};
use hashbrown::HashMap;
use kube_core::Resource;
use std::hash::Hash;

/// The predicate of a filter.
pub(crate) type BoxPredicate<K> = Box<dyn Predicate<K> + Send>;

/// What a filter remembers of an object: a hash. `None` if nothing is known, so that its next state passes.
pub(crate) type State = Option<u64>;

/// The state of `object`, or the message of the panic of `predicate`.
///
/// It also contains the uid, because a recreated object has changed; whether the object is being deleted, because kinds without
/// generations show that in no other property; and `relation`, such as the owners.
pub(crate) fn state_of<K: Resource>(
    predicate: &dyn Predicate<K>,
    object: &K,
    relation: impl Hash,
) -> Result<State, String> {
    let meta = object.meta();
    let property = catch_panic(|| predicate.hash_property(object))?;
    Ok(property.map(|property| hash((property, &meta.uid, meta.deletion_timestamp.is_some(), relation))))
}

/// The last state of each existing object of a collection: about 120 bytes each. No I/O; every operation costs O(1).
#[derive(Debug, Default)]
pub(crate) struct SeenStates {
    seen: HashMap<ObjectKey, Seen>,
    /// The number of lists that have started.
    list_generation: u32,
}

#[derive(Debug)]
struct Seen {
    state: u64,
    /// The generation in which the object was last seen.
    list_generation: u32,
}

impl SeenStates {
    /// Notes the state of an object. Returns whether it differs from the last one, which includes that either is unknown.
    pub(crate) fn observe(&mut self, key: &ObjectKey, state: State) -> bool {
        let list_generation = self.list_generation;
        let Some(state) = state else {
            self.forget(key);
            return true;
        };
        match self.seen.get_mut(key) {
            Some(seen) => {
                seen.list_generation = list_generation;
                std::mem::replace(&mut seen.state, state) != state
            }
            None => {
                self.seen.insert(key.clone(), Seen { state, list_generation });
                true
            }
        }
    }

    /// Whether an object had a state when it was last seen.
    pub(crate) fn has(&self, key: &ObjectKey) -> bool {
        self.seen.contains_key(key)
    }

    /// Forgets an object that was deleted, or whose state is unknown.
    pub(crate) fn forget(&mut self, key: &ObjectKey) {
        self.seen.remove(key);
        release(&mut self.seen);
    }

    /// Forgets all objects, because their storage went back: equal states, such as generations, do not mean equal objects any more.
    pub(crate) fn forget_all(&mut self) {
        self.seen = HashMap::new();
    }

    pub(crate) fn start_list(&mut self) {
        self.list_generation = self.list_generation.wrapping_add(1);
    }

    /// Forgets the objects that were not seen since the list started. O(number of objects).
    pub(crate) fn finish_list(&mut self) {
        let generation = self.list_generation;
        self.seen.retain(|_, seen| seen.list_generation == generation);
        release(&mut self.seen);
    }

    /// Forgets objects that no longer exist, once they could be half of all. O(1) amortized.
    pub(crate) fn sweep(&mut self, existing: usize, exists: impl Fn(&ObjectKey) -> bool) {
        const MIN: usize = 64;
        if self.seen.len() > 2 * existing.max(MIN) {
            self.seen.retain(|key, _| exists(key));
            release(&mut self.seen);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::predicate::predicates;
    use k8s_openapi::{api::core::v1::ConfigMap, apimachinery::pkg::apis::meta::v1::Time, jiff::Timestamp};

    fn object(name: &str, generation: Option<i64>) -> ConfigMap {
        let mut object = ConfigMap::default();
        object.metadata.name = Some(name.into());
        object.metadata.generation = generation;
        object
    }

    fn observe(states: &mut SeenStates, object: &ConfigMap) -> bool {
        let state = state_of(&predicates::generation, object, ()).unwrap();
        states.observe(&ObjectKey::of(object), state)
    }

    #[test]
    fn only_changes_of_the_property_count() {
        let mut states = SeenStates::default();
        let (first, second) = (object("a", Some(1)), object("a", Some(2)));
        assert!(observe(&mut states, &first) && !observe(&mut states, &first));
        assert!(observe(&mut states, &second) && observe(&mut states, &first));
        assert!(observe(&mut states, &object("b", Some(1))), "another object");
        let without = object("a", None);
        assert!(
            observe(&mut states, &without) && observe(&mut states, &without),
            "objects without the property count"
        );
        assert!(observe(&mut states, &first), "the state before is unknown");
    }

    #[test]
    fn recreation_deletion_and_other_owners_count_as_changes() {
        let mut states = SeenStates::default();
        let mut object = object("a", Some(1));
        observe(&mut states, &object);
        object.metadata.uid = Some("2".into());
        assert!(observe(&mut states, &object) && !observe(&mut states, &object));
        object.metadata.deletion_timestamp = Some(Time(Timestamp::UNIX_EPOCH));
        assert!(observe(&mut states, &object) && !observe(&mut states, &object));
        let state = |owner: &str| state_of(&predicates::generation, &object, owner).unwrap();
        assert_ne!(state("a"), state("b"));
    }

    #[test]
    fn a_panic_is_returned_with_its_message() {
        let panics = |_: &ConfigMap| -> Option<u64> { panic!("no such field") };
        assert_eq!(state_of(&panics, &object("a", None), ()), Err("no such field".to_owned()));
    }

    #[test]
    fn objects_that_no_longer_exist_use_no_memory() {
        let mut states = SeenStates::default();
        let names: Vec<String> = (0..1000).map(|at| format!("object-of-a-typical-length-{at}")).collect();
        let objects: Vec<ConfigMap> = names.iter().map(|name| object(name, Some(1))).collect();
        let memory = allocation_counter::measure(|| {
            for object in &objects {
                observe(&mut states, object);
            }
        });
        let each = memory.bytes_current / i64::try_from(objects.len()).unwrap();
        assert!((60..160).contains(&each), "{each} bytes");
        states.forget(&ObjectKey::of(&objects[0]));
        assert!(observe(&mut states, &objects[0]), "forgotten");

        states.start_list();
        assert!(!observe(&mut states, &objects[1]), "a list does not forget what it has");
        states.start_list();
        assert!(!observe(&mut states, &objects[2]), "nor does an unfinished one");
        states.finish_list();
        assert_eq!(states.seen.len(), 1);
    }

    #[test]
    fn emptied_states_take_little_memory() {
        let mut states = SeenStates::default();
        let objects: Vec<_> = (0..10_000).map(|at| object(&at.to_string(), Some(1))).collect();
        let empties: [fn(&mut SeenStates, &[ConfigMap]); 4] = [
            |states, objects| objects.iter().for_each(|object| states.forget(&ObjectKey::of(object))),
            |states, objects| {
                for object in objects {
                    states.observe(&ObjectKey::of(object), None);
                }
            },
            |states, _| {
                states.start_list();
                states.finish_list();
            },
            |states, _| states.sweep(0, |_| false),
        ];
        for empty in empties {
            let memory = allocation_counter::measure(|| {
                for object in &objects {
                    observe(&mut states, object);
                }
                empty(&mut states, &objects);
            });
            assert!(memory.bytes_current < 10_000, "{memory:?}");
        }
    }

    #[test]
    fn a_sweep_bounds_the_memory_by_the_existing_objects() {
        let mut states = SeenStates::default();
        let exists = |key: &ObjectKey| key.name.ends_with('7');
        for at in 0..10_000 {
            observe(&mut states, &object(&format!("{at}"), Some(1)));
            states.sweep(10, exists);
            assert!(states.seen.len() <= 128 + 1000);
        }
        assert!(!observe(&mut states, &object("7", Some(1))), "existing objects are kept");
    }
}
