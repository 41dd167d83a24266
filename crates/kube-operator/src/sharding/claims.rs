//! Which keys a member may reconcile: those that it claims and no other live member claims.

use super::rendezvous::View;
use std::sync::Arc;

/// The keys that a member may reconcile. Two members never have a key in common: see [`super::machine`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Claims {
    pub(super) member: Arc<str>,
    /// The member must own a key in each of these. Empty: it may reconcile nothing.
    pub(super) own: Vec<View>,
    /// The views that other live members have published, each with its publishers. A member claims the keys that it owns in its view.
    pub(super) others: Vec<(View, Vec<Arc<str>>)>,
}

impl Claims {
    /// O(members) for each different view; in a settled group there is one.
    pub(super) fn include(&self, key: u64) -> bool {
        let mine = |view: &View| view.owner(key) == Some(&self.member);
        let claimed = |(view, publishers): &(View, Vec<Arc<str>>)| {
            view.owner(key).is_some_and(|owner| publishers.iter().any(|publisher| **publisher == *owner))
        };
        !self.own.is_empty() && self.own.iter().all(mine) && !self.others.iter().any(claimed)
    }

    /// Adds the view that another live member has published.
    pub(super) fn add_other(&mut self, view: &View, publisher: Arc<str>) {
        match self.others.iter_mut().find(|(known, _)| known == view) {
            Some((_, publishers)) => publishers.push(publisher),
            None => self.others.push((view.clone(), vec![publisher])),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claims(own: &[&[&str]], others: &[(&[&str], &str)]) -> Claims {
        let view = |names: &[&str]| names.iter().copied().collect::<View>();
        let own = own.iter().copied().map(view).collect();
        let mut claims = Claims { member: "a".into(), own, others: Vec::new() };
        for (names, publisher) in others {
            claims.add_other(&view(names), (*publisher).into());
        }
        claims
    }

    fn included(claims: &Claims) -> Vec<u64> {
        (0..100).filter(|key| claims.include(*key)).collect()
    }

    #[test]
    fn nothing_is_included_without_an_own_view() {
        assert_eq!(included(&claims(&[], &[])), [0; 0]);
        assert_eq!(included(&claims(&[&[]], &[])), [0; 0]);
        assert_eq!(included(&claims(&[&["a"]], &[])).len(), 100);
    }

    #[test]
    fn several_own_views_include_what_all_of_them_give() {
        let half = included(&claims(&[&["a", "b"]], &[]));
        assert!(half.len() > 20 && half.len() < 80, "{half:?}");
        assert_eq!(included(&claims(&[&["a"], &["a", "b"]], &[])), half);
    }

    #[test]
    fn what_another_claims_is_not_included() {
        assert_eq!(included(&claims(&[&["a"]], &[(&["b"], "b")])), [0; 0]);
        let half = included(&claims(&[&["a", "b"]], &[]));
        assert_eq!(included(&claims(&[&["a"]], &[(&["a", "b"], "b")])), half);
        // A view is a claim of its publisher, not of the members that it names.
        assert_eq!(included(&claims(&[&["a"]], &[(&["b", "c"], "d")])).len(), 100);
    }
}
