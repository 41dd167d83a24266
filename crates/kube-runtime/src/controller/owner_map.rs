//! Which objects related objects named when they were last seen.
//!
//! A watch that starts over does not tell what was deleted meanwhile, and an object that names other owners than
//! before does not tell the former ones. Whoever is no longer named hears of it by what is remembered here: names only,
//! some 200 bytes for each related object that names something.

use crate::reflector::ObjectKey;
use ahash::AHashMap;

/// The related objects of one watch, and what each of them names.
#[derive(Debug, Default)]
pub(super) struct OwnerMap {
    related: AHashMap<ObjectKey, Entry>,
    /// How many lists have begun.
    lists: u32,
}

#[derive(Debug)]
struct Entry {
    names: Box<[ObjectKey]>,
    /// During which list, or after it, the object was last seen.
    list: u32,
}

/// A related object, and what it names no longer.
pub(super) type StaleOwners = (ObjectKey, Vec<ObjectKey>);

impl OwnerMap {
    pub(super) fn start_list(&mut self) {
        self.lists = self.lists.wrapping_add(1);
    }

    /// The list is complete: what was known and has not been seen since its start is gone. O(related objects).
    pub(super) fn finish_list(&mut self) -> Vec<StaleOwners> {
        let list = self.lists;
        let gone = self.related.extract_if(|_, entry| entry.list != list);
        let mut gone: Vec<StaleOwners> =
            gone.map(|(related, entry)| (related, entry.names.into_vec())).collect();
        gone.sort_unstable();
        gone
    }

    /// `related` is there, and names `names`. An object that names nothing costs nothing.
    pub(super) fn observe(&mut self, related: ObjectKey, names: Vec<ObjectKey>) -> StaleOwners {
        let before = if names.is_empty() {
            self.related.remove(&related)
        } else {
            let entry = Entry { names: names.as_slice().into(), list: self.lists };
            self.related.insert(related.clone(), entry)
        };
        let before = before.map(|entry| entry.names.into_vec()).unwrap_or_default();
        (related, before.into_iter().filter(|name| !names.contains(name)).collect())
    }

    /// `related` is there, and nobody knows what it names by now: what it named before, which it keeps.
    pub(super) fn observe_unknown(&mut self, related: &ObjectKey) -> Vec<ObjectKey> {
        let Some(entry) = self.related.get_mut(related) else { return Vec::new() };
        entry.list = self.lists;
        entry.names.to_vec()
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
    fn what_a_list_lacks_is_lost() {
        let mut owners = OwnerMap::default();
        owners.start_list();
        for (child, owner) in [("stays", "a"), ("goes", "b")] {
            owners.observe(key(child), vec![key(owner)]);
        }
        owners.observe(key("moves"), vec![key("c"), key("d")]);
        assert_eq!(owners.finish_list(), []);
        owners.start_list();
        assert_eq!(owners.observe(key("stays"), vec![key("a")]).1, []);
        assert_eq!(owners.observe(key("moves"), vec![key("d"), key("e")]).1, [key("c")]);
        assert_eq!(owners.finish_list(), [(key("goes"), vec![key("b")])]);
    }

    #[test]
    fn a_list_that_was_not_finished_is_remembered() {
        let mut owners = OwnerMap::default();
        owners.observe(key("stays"), vec![key("a")]);
        owners.start_list();
        owners.observe(key("goes"), vec![key("c")]);
        owners.start_list();
        owners.observe(key("stays"), vec![key("a")]);
        assert_eq!(owners.finish_list(), [(key("goes"), vec![key("c")])]);
    }

    #[test]
    fn a_change_loses_what_it_names_no_longer() {
        let mut owners = OwnerMap::default();
        assert_eq!(owners.observe(key("child"), vec![key("a")]), (key("child"), vec![]));
        assert_eq!(owners.observe(key("child"), vec![key("b")]), (key("child"), vec![key("a")]));
        assert_eq!(owners.observe(key("child"), vec![]), (key("child"), vec![key("b")]));
        assert!(owners.related.is_empty());
    }

    #[test]
    fn an_object_that_cannot_be_decoded_keeps_its_owners() {
        let mut owners = OwnerMap::default();
        owners.observe(key("child"), vec![key("a")]);
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
                owners.observe(key("child", at), vec![key("owner", at)]);
            }
        });
        let each = memory.bytes_current / i64::try_from(OBJECTS).unwrap();
        assert!((100..300).contains(&each), "{each} bytes");
        for at in 0..OBJECTS {
            owners.observe(key("child", at), vec![]);
        }
        assert!(owners.related.is_empty(), "an object that maps to nothing costs nothing");
    }
}
