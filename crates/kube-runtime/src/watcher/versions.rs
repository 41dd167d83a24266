//! Whether the `resourceVersion`s of a server can be compared between objects.

use crate::version::{number, went_back};

/// What is known about the versions of one collection.
///
/// A genuine server has one counter for all objects of a kind, so a lower version means an older storage, and a list shows
/// it. An aggregated API may count the changes of each object alone.
#[derive(Debug, Default)]
pub(super) enum Versions {
    #[default]
    Comparable,
    /// A watch brought a version lower than this one. The next list has to show a lower version, too.
    Regressed(String),
    /// The list did not: the next lower version is no sign of an older storage.
    Suspect,
    /// They say nothing about other objects.
    Opaque,
}

/// What a version in a watch means.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Fine,
    /// The storage is older than before.
    Older,
    /// From now on, versions are not compared any more.
    TurnedOpaque,
}

impl Versions {
    /// A watch that has reached `last` brings `new`.
    pub(super) fn brought(&mut self, last: &str, new: &str) -> Verdict {
        if !self.comparable(last) || !went_back(last, new) {
            return Verdict::Fine;
        }
        if matches!(self, Self::Suspect) {
            *self = Self::Opaque;
            return Verdict::TurnedOpaque;
        }
        *self = Self::Regressed(last.to_owned());
        Verdict::Older
    }

    /// A list that shows the state at `version` contains objects of these versions. One that is newer than its list is
    /// proof that they count per object.
    pub(super) fn list_contains<'a>(&mut self, version: &str, mut objects: impl Iterator<Item = &'a str>) {
        if self.comparable(version) && objects.any(|object| went_back(object, version)) {
            *self = Self::Opaque;
        }
    }

    /// A list is complete, and shows the state at `version`.
    pub(super) fn listed(&mut self, version: &str) {
        if let Self::Regressed(from) = self {
            *self = if went_back(from, version) { Self::Comparable } else { Self::Suspect };
        }
    }

    /// Whether this version can be compared with others.
    pub(super) fn comparable(&self, version: &str) -> bool {
        !matches!(self, Self::Opaque) && number(version).is_some()
    }

    /// The version as a statement about the whole collection; empty where it is none.
    pub(super) fn of_collection(&self, version: &str) -> String {
        if matches!(self, Self::Opaque) { String::new() } else { version.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lower_version_that_a_list_confirms_is_an_older_storage() {
        let mut versions = Versions::default();
        for _ in 0..3 {
            assert_eq!(versions.brought("10", "11"), Verdict::Fine);
            assert_eq!(versions.brought("10", "9"), Verdict::Older);
            versions.listed("9");
        }
        assert_eq!(versions.of_collection("9"), "9");
    }

    #[test]
    fn lower_versions_that_a_list_does_not_explain_are_opaque() {
        let mut versions = Versions::default();
        assert_eq!(versions.brought("10", "3"), Verdict::Older);
        versions.listed("10");
        assert_eq!(versions.brought("10", "12"), Verdict::Fine);
        assert_eq!(versions.brought("12", "4"), Verdict::TurnedOpaque);
        assert_eq!(versions.brought("12", "5"), Verdict::Fine);
        assert!(!versions.comparable("12"));
        assert_eq!(versions.of_collection("12"), "");
    }

    #[test]
    fn what_is_no_number_is_never_compared() {
        assert_eq!(Versions::default().brought("abc", "1"), Verdict::Fine);
        assert!(!Versions::default().comparable("abc"));
    }
}
