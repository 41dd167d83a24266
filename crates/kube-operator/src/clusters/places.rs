//! How many clusters start at once. No I/O.

use super::name::ClusterName;
use std::collections::{BTreeMap, VecDeque};

/// The places in which clusters connect and list for the first time. Clusters that failed before get at most half of them, so that those do
/// not delay the others.
#[derive(Debug)]
pub(super) struct Places {
    limit: usize,
    waiting: [VecDeque<ClusterName>; 2],
    /// Who has a place, and for which attempt.
    used: BTreeMap<ClusterName, Attempt>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Attempt {
    First,
    Again,
}

impl Places {
    /// At least one.
    pub(super) fn new(limit: usize) -> Self {
        Self { limit: limit.max(1), waiting: Default::default(), used: BTreeMap::new() }
    }

    /// A cluster that neither has nor waits for a place wants one.
    pub(super) fn ask(&mut self, name: ClusterName, attempt: Attempt) {
        self.waiting[attempt as usize].push_back(name);
    }

    /// A cluster needs no place any more, whether it has one or waits for it.
    pub(super) fn leave(&mut self, name: &ClusterName) {
        if self.used.remove(name).is_none() {
            self.waiting.iter_mut().for_each(|line| line.retain(|waiting| waiting != name));
        }
    }

    /// The next cluster that gets a place, if there is one free.
    pub(super) fn next(&mut self) -> Option<ClusterName> {
        if self.used.len() >= self.limit {
            return None;
        }
        let again = self.used.values().filter(|attempt| **attempt == Attempt::Again).count();
        let may_again = again < self.limit.div_ceil(2);
        let first = self.waiting[Attempt::First as usize].pop_front().map(|name| (name, Attempt::First));
        let (name, attempt) = first.or_else(|| {
            let name = may_again.then(|| self.waiting[Attempt::Again as usize].pop_front())??;
            Some((name, Attempt::Again))
        })?;
        self.used.insert(name.clone(), attempt);
        Some(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(number: usize) -> ClusterName {
        ClusterName::new(&format!("c{number}")).unwrap()
    }

    fn take(places: &mut Places) -> Vec<String> {
        std::iter::from_fn(|| places.next()).map(|name| name.to_string()).collect()
    }

    #[test]
    fn so_many_start_at_once_in_the_order_in_which_they_asked() {
        let mut places = Places::new(2);
        (0..5).for_each(|number| places.ask(name(number), Attempt::First));
        assert_eq!(take(&mut places), ["c0", "c1"]);
        places.leave(&name(3)); // it is removed while it waits
        places.leave(&name(0));
        assert_eq!(take(&mut places), ["c2"]);
        places.leave(&name(1));
        places.leave(&name(2));
        assert_eq!(take(&mut places), ["c4"]);
        places.leave(&name(4));
        places.leave(&name(4));
        assert!(places.used.is_empty() && places.next().is_none());
    }

    #[test]
    fn clusters_that_failed_leave_places_to_the_others() {
        let mut places = Places::new(4);
        (0..10).for_each(|number| places.ask(name(number), Attempt::Again));
        assert_eq!(take(&mut places), ["c0", "c1"]);
        (10..13).for_each(|number| places.ask(name(number), Attempt::First));
        assert_eq!(take(&mut places), ["c10", "c11"]);
        places.leave(&name(0));
        assert_eq!(take(&mut places), ["c12"], "first attempts go first");
        let mut one = Places::new(0);
        one.ask(name(0), Attempt::Again);
        assert_eq!(take(&mut one), ["c0"], "there is always one");
    }
}
