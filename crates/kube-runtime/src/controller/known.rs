//! What related objects asked for when they were last seen.
//!
//! A watch that starts over does not tell what was deleted meanwhile, and an object that names other owners than
//! before does not tell the former ones. Whoever is no longer named hears of it by what is remembered here: one entry
//! for each related object that names something.

use crate::reflector::ObjectKey;
use ahash::AHashMap;

type Named = AHashMap<ObjectKey, Box<[ObjectKey]>>;

/// The related objects of one watch, and what each of them names.
#[derive(Debug, Default)]
pub(super) struct Known {
    present: Named,
    /// What the list under way has brought so far.
    listed: Option<Named>,
}

/// A related object, and what it names no longer.
pub(super) type Lost = (ObjectKey, Vec<ObjectKey>);

impl Known {
    pub(super) fn start_list(&mut self) {
        let unfinished = self.listed.replace(Named::new()).into_iter().flatten();
        for (related, names) in unfinished {
            let before = self.present.remove(&related).unwrap_or_default();
            let former = missing(&before, &names);
            put(&mut self.present, related, names.into_iter().chain(former).collect());
        }
    }

    pub(super) fn list(&mut self, related: ObjectKey, names: Vec<ObjectKey>) {
        put(self.listed.as_mut().unwrap_or(&mut self.present), related, names);
    }

    /// The list is complete: what was known and is not in it is gone.
    pub(super) fn finish_list(&mut self) -> Vec<Lost> {
        let Some(listed) = self.listed.take() else { return Vec::new() };
        let before = std::mem::replace(&mut self.present, listed);
        let lost = before.into_iter().map(|(related, names)| {
            let lost = missing(&names, self.present.get(&related).map_or(&[], |names| names));
            (related, lost)
        });
        lost.filter(|(_, names)| !names.is_empty()).collect()
    }

    pub(super) fn change(&mut self, related: ObjectKey, names: Vec<ObjectKey>) -> Lost {
        let lost = self.present.get(&related).map(|before| missing(before, &names)).unwrap_or_default();
        if let Some(listed) = &mut self.listed {
            put(listed, related.clone(), names.clone());
        }
        put(&mut self.present, related.clone(), names);
        (related, lost)
    }
}

fn missing(before: &[ObjectKey], now: &[ObjectKey]) -> Vec<ObjectKey> {
    before.iter().filter(|name| !now.contains(name)).cloned().collect()
}

/// An object that names nothing costs nothing.
fn put(named: &mut Named, related: ObjectKey, names: Vec<ObjectKey>) {
    if names.is_empty() {
        named.remove(&related);
    } else {
        named.insert(related, names.into());
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
        let mut known = Known::default();
        known.start_list();
        known.list(key("stays"), vec![key("a")]);
        known.list(key("goes"), vec![key("b")]);
        known.list(key("moves"), vec![key("c"), key("d")]);
        assert_eq!(known.finish_list(), []);
        known.start_list();
        known.list(key("stays"), vec![key("a")]);
        known.list(key("moves"), vec![key("d"), key("e")]);
        let mut lost = known.finish_list();
        lost.sort_by_key(|(related, _)| related.name.clone());
        assert_eq!(lost, [(key("goes"), vec![key("b")]), (key("moves"), vec![key("c")])]);
    }

    #[test]
    fn a_list_that_was_not_finished_is_remembered() {
        let mut known = Known::default();
        known.change(key("moves"), vec![key("a")]);
        known.start_list();
        known.list(key("moves"), vec![key("b")]);
        known.list(key("goes"), vec![key("c")]);
        known.start_list();
        known.list(key("moves"), vec![key("b")]);
        let mut lost = known.finish_list();
        lost.sort_by_key(|(related, _)| related.name.clone());
        assert_eq!(lost, [(key("goes"), vec![key("c")]), (key("moves"), vec![key("a")])]);
    }

    #[test]
    fn a_change_loses_what_it_names_no_longer() {
        let mut known = Known::default();
        assert_eq!(known.change(key("child"), vec![key("a")]), (key("child"), vec![]));
        assert_eq!(known.change(key("child"), vec![key("b")]), (key("child"), vec![key("a")]));
        assert_eq!(known.change(key("child"), vec![]), (key("child"), vec![key("b")]));
        assert!(known.present.is_empty());
    }
}
