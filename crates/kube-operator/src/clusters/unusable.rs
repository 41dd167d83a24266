//! What a provider has and cannot use, and whether it can be read, for whoever shows it.

use super::name::ClusterName;
use kube_core::{Selector, SelectorExt};
use parking_lot::Mutex;
use std::{collections::BTreeMap, fmt, sync::Arc};

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
    /// What labels have to match, all of them.
    selectors: Vec<Selector>,
}

/// What cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Problem {
    /// The cluster for which it stands, if it is one that may have been announced.
    pub(super) name: Option<ClusterName>,
    /// Those of the cluster that it would be; `None` if they are not known.
    pub(super) labels: Option<BTreeMap<String, String>>,
    pub(super) why: String,
}

impl Problem {
    /// Of what stands for a cluster without labels.
    pub(super) fn without_labels(name: Option<ClusterName>, why: impl fmt::Display) -> Self {
        Self { name, labels: Some(BTreeMap::new()), why: why.to_string() }
    }
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
    pub(super) fn add(&self, place: &str, problem: Problem) {
        let mut places = self.0.lock();
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

    /// From now on, only what has such labels is wanted.
    pub(super) fn only(&self, selector: Selector) {
        self.0.lock().selectors.push(selector);
    }

    /// Whether it would be a cluster that is wanted, as far as its labels are known.
    pub(super) fn wants(&self, problem: &Problem) -> bool {
        let places = self.0.lock();
        let mut selectors = places.selectors.iter();
        problem.labels.as_ref().is_none_or(|labels| selectors.all(|selector| selector.matches(labels)))
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
        let add = |place: &str, why: &str| {
            let (name, why) = (ClusterName::new(place).ok(), why.to_owned());
            unusable.add(place, Problem { name, labels: None, why });
        };
        let places = || unusable.problems().into_iter().map(|problem| problem.why).collect::<Vec<_>>();
        add("a", "a");
        unusable.begin();
        add("b", "b");
        add("c", "c");
        unusable.begin(); // the list failed and began anew
        add("b", "b2");
        add("d", "d");
        unusable.remove("d");
        assert_eq!(places(), ["a", "b2", "c"]);
        unusable.end();
        assert_eq!(places(), ["b2"]);
        unusable.end();
        unusable.remove("b");
        assert!(places().is_empty());
    }
}
