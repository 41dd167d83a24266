//! Whether the `resourceVersion`s of a collection can be compared between objects.

use crate::version::{parse, regressed};

/// What is known about the `resourceVersion`s of one collection.
///
/// A genuine server has one counter for all objects of a kind, so a lower version means an older storage, and the next list
/// has a lower version too. An aggregated API may count the changes of each object separately.
#[derive(Debug, Default)]
pub(super) enum VersionComparability {
    #[default]
    Comparable,
    /// A watch sent a version lower than this one. The next list decides whether the storage is older.
    Regressed(String),
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

impl VersionComparability {
    /// A watch that has reached `last` sends `new`.
    pub(super) fn observe(&mut self, last: &str, new: &str) -> VersionOrder {
        if !self.is_comparable(last) || !regressed(last, new) {
            return VersionOrder::InOrder;
        }
        if matches!(self, Self::Suspect) {
            *self = Self::Opaque;
            return VersionOrder::BecameOpaque;
        }
        *self = Self::Regressed(last.to_owned());
        VersionOrder::Regressed
    }

    /// A list at `list_version` contains objects up to `highest`. An object newer than its list proves that versions are counted per
    /// object.
    pub(super) fn observe_list_items(&mut self, list_version: &str, highest: Option<u128>) {
        if self.is_comparable(list_version) && highest > parse(list_version) {
            *self = Self::Opaque;
        }
    }

    /// A list at `version` is complete.
    pub(super) fn list_completed(&mut self, version: &str) {
        if let Self::Regressed(from) = self {
            *self = if regressed(from, version) { Self::Comparable } else { Self::Suspect };
        }
    }

    pub(super) fn is_comparable(&self, version: &str) -> bool {
        !matches!(self, Self::Opaque) && parse(version).is_some()
    }

    /// The version as one of the whole collection; empty if versions are opaque.
    pub(super) fn collection_version(&self, version: &str) -> String {
        if matches!(self, Self::Opaque) { String::new() } else { version.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lower_version_confirmed_by_a_list_is_an_older_storage() {
        let mut versions = VersionComparability::default();
        for _ in 0..3 {
            assert_eq!(versions.observe("10", "11"), VersionOrder::InOrder);
            assert_eq!(versions.observe("10", "9"), VersionOrder::Regressed);
            versions.list_completed("9");
        }
        assert_eq!(versions.collection_version("9"), "9");
    }

    #[test]
    fn a_second_lower_version_not_confirmed_by_a_list_makes_versions_opaque() {
        let mut versions = VersionComparability::default();
        assert_eq!(versions.observe("10", "3"), VersionOrder::Regressed);
        versions.list_completed("10");
        assert_eq!(versions.observe("10", "12"), VersionOrder::InOrder);
        assert_eq!(versions.observe("12", "4"), VersionOrder::BecameOpaque);
        assert_eq!(versions.observe("12", "5"), VersionOrder::InOrder);
        assert!(!versions.is_comparable("12"));
        assert_eq!(versions.collection_version("12"), "");
    }

    #[test]
    fn non_numeric_versions_are_never_compared() {
        assert_eq!(VersionComparability::default().observe("abc", "1"), VersionOrder::InOrder);
        assert!(!VersionComparability::default().is_comparable("abc"));
    }
}
