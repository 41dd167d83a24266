//! What a provider has and cannot use, and whether it can be read, for whoever shows it.

use super::name::ClusterName;
use parking_lot::Mutex;
use std::{collections::BTreeMap, sync::Arc};

/// The objects, files or contexts that a provider has and cannot use now. Clones are the same.
#[derive(Clone, Debug, Default)]
pub(super) struct Unusable(Arc<Mutex<Places>>);

#[derive(Debug, Default)]
struct Places {
    now: BTreeMap<String, Problem>,
    /// While a list runs: those of it.
    listed: Option<BTreeMap<String, Problem>>,
    /// The provider itself cannot be read.
    is_unreadable: bool,
}

/// What cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Problem {
    /// The cluster for which it stands; `None` if it can be that of none.
    pub(super) name: Option<ClusterName>,
    pub(super) why: String,
}

impl Unusable {
    /// A list begins.
    pub(super) fn begin(&self) {
        self.0.lock().listed = Some(BTreeMap::new());
    }

    /// The list is complete: nothing else is there.
    pub(super) fn end(&self) {
        let mut places = self.0.lock();
        if let Some(listed) = places.listed.take() {
            places.now = listed;
        }
    }

    /// What is at this place cannot be used.
    pub(super) fn add(&self, place: &str, name: Option<ClusterName>, why: String) {
        let mut places = self.0.lock();
        let problem = Problem { name, why };
        if let Some(listed) = &mut places.listed {
            listed.insert(place.to_owned(), problem.clone());
        }
        places.now.insert(place.to_owned(), problem);
    }

    /// It can be used, or is gone.
    pub(super) fn remove(&self, place: &str) {
        let mut places = self.0.lock();
        places.now.remove(place);
        places.listed.iter_mut().for_each(|listed| drop(listed.remove(place)));
    }

    /// Whether the provider itself cannot be read now.
    pub(super) fn is_unreadable(&self) -> bool {
        self.0.lock().is_unreadable
    }

    pub(super) fn set_unreadable(&self, is_unreadable: bool) {
        self.0.lock().is_unreadable = is_unreadable;
    }

    pub(super) fn problems(&self) -> Vec<Problem> {
        self.0.lock().now.values().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_tells_what_cannot_be_used_and_is_complete_at_its_end() {
        let unusable = Unusable::default();
        let places = || unusable.problems().into_iter().map(|problem| problem.why).collect::<Vec<_>>();
        unusable.add("a", None, "a".to_owned());
        unusable.begin();
        unusable.add("b", ClusterName::new("b").ok(), "b".to_owned());
        unusable.add("c", None, "c".to_owned());
        unusable.begin(); // the list failed and began anew
        unusable.add("b", ClusterName::new("b").ok(), "b2".to_owned());
        unusable.add("d", None, "d".to_owned());
        unusable.remove("d");
        assert_eq!(places(), ["a", "b2", "c"]);
        unusable.end();
        assert_eq!(places(), ["b2"]);
        unusable.end();
        unusable.remove("b");
        assert!(places().is_empty());
    }
}
