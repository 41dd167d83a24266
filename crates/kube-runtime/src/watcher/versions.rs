//! The `resourceVersion`s of a collection: whether they can be compared between objects, and whether they went back.

use crate::version::parse;

/// What is known about the `resourceVersion`s of one collection.
#[derive(Debug, Default)]
pub(super) struct CollectionVersions {
    order: Order,
    /// The version that the last list or watch has reached, if it is a number.
    reached: Option<u128>,
    history_lost: bool,
}

/// A genuine server has one counter for all objects of a kind, so a lower version means an older storage, and the next list
/// has a lower version too. An aggregated API may count the changes of each object separately.
#[derive(Debug, Default)]
enum Order {
    #[default]
    Comparable,
    /// A version was lower than this one. The next list decides whether the storage is older.
    Regressed(u128),
    /// The list was not older. If a version regresses again, versions are opaque.
    Suspect,
    /// Versions cannot be compared between objects.
    Opaque,
}

/// How a version in a watch relates to the one before.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum VersionOrder {
    InOrder,
    /// The storage is older than before.
    Regressed,
    /// From now on, versions are not compared.
    BecameOpaque,
}

impl CollectionVersions {
    /// Those of a cluster of which nothing is known, while objects of another one are.
    pub(super) fn of_another_cluster() -> Self {
        Self { history_lost: true, ..Self::default() }
    }

    /// A watch that has reached `last` sends `new`.
    pub(super) fn observe(&mut self, last: &str, new: &str) -> VersionOrder {
        let (Some(last), Some(new)) = (parse(last), parse(new)) else { return VersionOrder::InOrder };
        if new >= last || matches!(self.order, Order::Opaque) {
            self.reached = Some(new);
            return VersionOrder::InOrder;
        }
        if matches!(self.order, Order::Suspect) {
            self.order = Order::Opaque;
            return VersionOrder::BecameOpaque;
        }
        VersionOrder::Regressed
    }

    /// The storage is older than this version, which was reached: nothing that is known of its objects holds any more, because it
    /// may use their versions again for other states.
    pub(super) fn regressed(&mut self, reached: &str) {
        self.history_lost = true;
        if let Some(reached) = parse(reached) {
            self.order = Order::Regressed(reached);
        }
    }

    /// Whether the storage went back since the last complete list. Then an object with a known version may have another state.
    pub(super) fn history_lost(&self) -> bool {
        self.history_lost
    }

    /// A list at `list_version` contains objects up to `highest`. An object newer than its list proves that versions are counted per
    /// object.
    pub(super) fn observe_list_items(&mut self, list_version: &str, highest: Option<u128>) {
        if self.is_comparable(list_version) && highest > parse(list_version) {
            self.order = Order::Opaque;
        }
    }

    /// A list at `version` is complete.
    ///
    /// # Errors
    ///
    /// The version that was reached before, if the storage turns out to be older only now. The list may have taken objects for
    /// known ones, so another list has to follow.
    pub(super) fn list_completed(&mut self, version: &str) -> Result<(), String> {
        let (listed, reached) = (parse(version), self.reached);
        match self.order {
            Order::Regressed(from) => {
                self.order = if listed < Some(from) { Order::Comparable } else { Order::Suspect };
            }
            Order::Comparable | Order::Suspect if listed.is_some() && listed < reached => {
                return Err(reached.map(|reached| reached.to_string()).unwrap_or_default());
            }
            Order::Comparable | Order::Suspect | Order::Opaque => {}
        }
        (self.reached, self.history_lost) = (listed, false);
        Ok(())
    }

    pub(super) fn is_comparable(&self, version: &str) -> bool {
        !matches!(self.order, Order::Opaque) && parse(version).is_some()
    }

    /// The version as one of the whole collection; empty if versions are opaque.
    pub(super) fn collection_version(&self, version: &str) -> String {
        if matches!(self.order, Order::Opaque) { String::new() } else { version.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lower_version_confirmed_by_a_list_is_an_older_storage() {
        let mut versions = CollectionVersions::default();
        for _ in 0..3 {
            assert_eq!(versions.observe("10", "11"), VersionOrder::InOrder);
            assert_eq!(versions.observe("10", "9"), VersionOrder::Regressed);
            versions.regressed("10");
            assert!(versions.history_lost());
            assert_eq!(versions.list_completed("9"), Ok(()));
            assert!(!versions.history_lost());
        }
        assert_eq!(versions.collection_version("9"), "9");
    }

    #[test]
    fn a_second_lower_version_not_confirmed_by_a_list_makes_versions_opaque() {
        let mut versions = CollectionVersions::default();
        assert_eq!(versions.observe("10", "3"), VersionOrder::Regressed);
        versions.regressed("10");
        assert_eq!(versions.list_completed("10"), Ok(()));
        assert_eq!(versions.observe("10", "12"), VersionOrder::InOrder);
        assert_eq!(versions.observe("12", "4"), VersionOrder::BecameOpaque);
        assert_eq!(versions.observe("12", "5"), VersionOrder::InOrder);
        assert!(!versions.is_comparable("12"));
        assert_eq!(versions.collection_version("12"), "");
    }

    #[test]
    fn non_numeric_versions_are_never_compared() {
        assert_eq!(CollectionVersions::default().observe("abc", "1"), VersionOrder::InOrder);
        assert!(!CollectionVersions::default().is_comparable("abc"));
    }

    #[test]
    fn a_list_older_than_what_was_reached_has_to_be_repeated_once() {
        let mut versions = CollectionVersions::default();
        assert_eq!(versions.list_completed("8"), Ok(()), "the first one");
        versions.observe("8", "12");
        assert_eq!(versions.list_completed("10"), Err("12".to_owned()));
        versions.regressed("12");
        assert_eq!(versions.list_completed("10"), Ok(()));
        assert_eq!(versions.list_completed("10"), Ok(()), "not older than that");
        for opaque in ["", "abc"] {
            assert_eq!(versions.list_completed(opaque), Ok(()));
        }
    }
}
