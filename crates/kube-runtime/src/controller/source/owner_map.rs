//! The owners of related objects as of the last event of each.
//!
//! A relist does not report deletions, and an object whose owners change does not report the former ones. Without this map
//! the former owners would not be reconciled. It holds keys only: about 200 bytes per related object that has owners.
//!
//! An owner is any object that the mapper returns for a related object, with or without an owner reference.

use crate::{capacity::release, reflector::ObjectKey};
use hashbrown::HashMap;

/// The related objects of one watch, and the owners of each.
#[derive(Debug, Default)]
pub(super) struct OwnerMap {
    related: HashMap<ObjectKey, Entry>,
    /// The number of lists that have started.
    list_generation: u32,
}

#[derive(Debug)]
struct Entry {
    owners: Box<[ObjectKey]>,
    /// The generation in which the object was last seen.
    list_generation: u32,
}

/// A related object, and the owners that it no longer has.
pub(super) type StaleOwners = (ObjectKey, Vec<ObjectKey>);

impl OwnerMap {
    pub(super) fn start_list(&mut self) {
        self.list_generation = self.list_generation.wrapping_add(1);
    }

    /// Completes a list: objects not seen since its start are deleted. O(related objects).
    pub(super) fn finish_list(&mut self) -> Vec<StaleOwners> {
        let generation = self.list_generation;
        let deleted = self.related.extract_if(|_, entry| entry.list_generation != generation);
        let mut stale: Vec<StaleOwners> =
            deleted.map(|(related, entry)| (related, entry.owners.into_vec())).collect();
        stale.sort_unstable();
        release(&mut self.related);
        stale
    }

    /// Sets the owners of `related`. An object without owners uses no memory.
    pub(super) fn observe(&mut self, related: ObjectKey, owners: &[ObjectKey]) -> StaleOwners {
        let former = if owners.is_empty() {
            self.related.remove(&related)
        } else {
            let entry = Entry { owners: owners.into(), list_generation: self.list_generation };
            self.related.insert(related.clone(), entry)
        };
        release(&mut self.related);
        let former = former.map(|entry| entry.owners.into_vec()).unwrap_or_default();
        (related, former.into_iter().filter(|owner| !owners.contains(owner)).collect())
    }

    /// `related` exists, but its current owners are unknown. It keeps the former owners, which are returned.
    pub(super) fn observe_unknown(&mut self, related: &ObjectKey) -> Vec<ObjectKey> {
        let Some(entry) = self.related.get_mut(related) else { return Vec::new() };
        entry.list_generation = self.list_generation;
        entry.owners.to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> ObjectKey {
        let object = k8s_openapi::api::core::v1::ConfigMap {
            metadata: kube_core::ObjectMeta { name: Some(name.into()), ..Default::default() },
            ..Default::default()
        };
        ObjectKey::of(&object)
    }

    #[test]
    fn a_completed_list_returns_the_owners_of_deleted_objects() {
        let mut owners = OwnerMap::default();
        owners.start_list();
        for (child, owner) in [("stays", "a"), ("goes", "b")] {
            owners.observe(key(child), &[key(owner)]);
        }
        owners.observe(key("moves"), &[key("c"), key("d")]);
        assert_eq!(owners.finish_list(), []);
        owners.start_list();
        assert_eq!(owners.observe(key("stays"), &[key("a")]).1, []);
        assert_eq!(owners.observe(key("moves"), &[key("d"), key("e")]).1, [key("c")]);
        assert_eq!(owners.finish_list(), [(key("goes"), vec![key("b")])]);
    }

    #[test]
    fn an_unfinished_list_does_not_hide_deletions() {
        let mut owners = OwnerMap::default();
        owners.observe(key("stays"), &[key("a")]);
        owners.start_list();
        owners.observe(key("goes"), &[key("c")]);
        owners.start_list();
        owners.observe(key("stays"), &[key("a")]);
        assert_eq!(owners.finish_list(), [(key("goes"), vec![key("c")])]);
    }

    #[test]
    fn a_change_returns_the_former_owners() {
        let mut owners = OwnerMap::default();
        assert_eq!(owners.observe(key("child"), &[key("a")]), (key("child"), vec![]));
        assert_eq!(owners.observe(key("child"), &[key("b")]), (key("child"), vec![key("a")]));
        assert_eq!(owners.observe(key("child"), &[]), (key("child"), vec![key("b")]));
        assert!(owners.related.is_empty());
    }

    #[test]
    fn an_object_with_unknown_owners_keeps_the_former_ones() {
        let mut owners = OwnerMap::default();
        owners.observe(key("child"), &[key("a")]);
        owners.start_list();
        assert_eq!(owners.observe_unknown(&key("child")), [key("a")]);
        assert_eq!(owners.observe_unknown(&key("never-seen")), []);
        assert_eq!(owners.finish_list(), []);
        owners.start_list();
        assert_eq!(owners.finish_list(), [(key("child"), vec![key("a")])]);
        assert!(owners.related.is_empty());
    }

    #[test]
    fn a_related_object_with_one_owner_costs_some_200_bytes() {
        const OBJECTS: usize = 1000;
        let key = |kind: &str, at: usize| key(&format!("{kind}-of-a-typical-length-{at}"));
        let mut owners = OwnerMap::default();
        let memory = allocation_counter::measure(|| {
            for at in 0..OBJECTS {
                owners.observe(key("child", at), &[key("owner", at)]);
            }
        });
        let each = memory.bytes_current / i64::try_from(OBJECTS).unwrap();
        assert!((100..300).contains(&each), "{each} bytes");
        for at in 0..OBJECTS {
            owners.observe(key("child", at), &[]);
        }
        assert!(owners.related.is_empty(), "an object that maps to nothing costs nothing");
        let mut owners = OwnerMap::default();
        let memory = allocation_counter::measure(|| {
            for at in 0..10_000 {
                owners.observe(key("child", at), &[key("owner", at)]);
            }
            owners.start_list();
            drop(owners.finish_list());
        });
        assert!(memory.bytes_current < 10_000, "{memory:?}");
    }
}
