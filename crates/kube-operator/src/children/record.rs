//! What the owner records of its set: where children may be, and the newest release that has applied them. Pure.

use super::set::ChildSet;
use kube_core::{ApiResource, ObjectMeta};
use semver::Version;
use std::{
    cmp::Ordering,
    collections::{BTreeMap, BTreeSet},
    fmt,
};

/// Separates the places.
const SEPARATOR: char = ',';

/// A kind in any version, in a namespace if it has namespaces.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) group: String,
    pub(super) kind: String,
    pub(super) namespace: Option<String>,
}

impl Place {
    pub(super) fn new(resource: &ApiResource, namespace: Option<&str>) -> Self {
        Self {
            group: resource.group.clone(),
            kind: resource.kind.clone(),
            namespace: namespace.map(str::to_owned),
        }
    }

    fn parse(text: &str) -> Self {
        let (kind, namespace) =
            text.split_once('/').map_or((text, None), |(kind, it)| (kind, Some(it.to_owned())));
        let (kind, group) = kind.split_once('.').unwrap_or((kind, ""));
        Self { group: group.to_owned(), kind: kind.to_owned(), namespace }
    }

    /// In messages.
    pub(super) fn in_words(&self) -> String {
        match &self.namespace {
            Some(namespace) => format!("the {} objects in namespace {namespace}", self.kind),
            None => format!("the {} objects", self.kind),
        }
    }
}

impl fmt::Display for Place {
    /// `Deployment.apps/shop`, as apply sets write kinds.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kind)?;
        if !self.group.is_empty() {
            write!(f, ".{}", self.group)?;
        }
        self.namespace.iter().try_for_each(|namespace| write!(f, "/{namespace}"))
    }
}

/// What an owner records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) places: BTreeSet<Place>,
    /// As it is written.
    pub(super) release: Option<String>,
}

impl Record {
    pub(super) fn read(set: &ChildSet, owner: &ObjectMeta) -> Self {
        let annotation = |key: &str| owner.annotations.as_ref().and_then(|annotations| annotations.get(key));
        let places = annotation(&set.places_key()).map(String::as_str).unwrap_or_default();
        let places = places.split(SEPARATOR).map(str::trim).filter(|place| !place.is_empty());
        Self { places: places.map(Place::parse).collect(), release: annotation(&set.release_key()).cloned() }
    }

    /// The annotations that have it.
    pub(super) fn annotations(&self, set: &ChildSet) -> BTreeMap<String, String> {
        let places: Vec<String> = self.places.iter().map(ToString::to_string).collect();
        let places = (set.places_key(), places.join(&SEPARATOR.to_string()));
        [places].into_iter().chain(self.release.clone().map(|release| (set.release_key(), release))).collect()
    }

    /// The newer release that has recorded it, if it is newer than `own`. One that cannot be read may be newer.
    pub(super) fn newer_than(&self, own: &Version) -> Option<&str> {
        let recorded = self.release.as_deref()?;
        let is_newer =
            Version::parse(recorded).map_or(true, |it| it.cmp_precedence(own) == Ordering::Greater);
        is_newer.then_some(recorded)
    }

    /// The record before `own` writes children at these places. `None` if it says that already.
    pub(super) fn extended(&self, places: &BTreeSet<Place>, own: &Version) -> Option<Self> {
        let release = match self.newer_than(own) {
            Some(newer) => newer.to_owned(),
            None => own.to_string(),
        };
        let extended = Self { places: &self.places | places, release: Some(release) };
        (extended != *self).then_some(extended)
    }

    /// The record without places at which nothing is left. `None` if it has none of them.
    pub(super) fn without(&self, empty: &BTreeSet<Place>) -> Option<Self> {
        let without = Self { places: &self.places - empty, release: self.release.clone() };
        (without != *self).then_some(without)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SET: ChildSet = ChildSet::new("site-operator", "1.10.0");

    fn meta(children: &str, release: Option<&str>) -> ObjectMeta {
        let release = release.map(|it| ("site-operator/release".to_owned(), it.to_owned()));
        let children = ("site-operator/children".to_owned(), children.to_owned());
        ObjectMeta {
            annotations: Some([children].into_iter().chain(release).collect()),
            ..ObjectMeta::default()
        }
    }

    fn places(text: &str) -> BTreeSet<Place> {
        Record::read(&SET, &meta(text, None)).places
    }

    #[test]
    fn what_is_written_is_read_back() {
        let text = "ClusterRole.rbac.authorization.k8s.io,ConfigMap/shop,Deployment.apps/shop";
        let record = Record::read(&SET, &meta(text, Some("1.9.0")));
        assert_eq!(record.places.len(), 3);
        assert_eq!(record.places.first().unwrap().kind, "ConfigMap", "the core group is first");
        let again = ObjectMeta { annotations: Some(record.annotations(&SET)), ..ObjectMeta::default() };
        assert_eq!(Record::read(&SET, &again), record);
        assert_eq!(Record::read(&SET, &ObjectMeta::default()), Record::default());
        assert_eq!(places(" ConfigMap/shop ,, "), places("ConfigMap/shop"));
        let other = ChildSet::new("other", "1.0.0");
        assert_eq!(Record::read(&other, &meta(text, Some("1.9.0"))), Record::default(), "of another set");
    }

    #[test]
    fn releases_are_compared_as_versions_and_what_cannot_be_read_may_be_newer() {
        let newer = |release: Option<&str>| {
            Record::read(&SET, &meta("", release)).newer_than(&Version::new(1, 10, 0)).map(str::to_owned)
        };
        for older in [None, Some("1.9.0"), Some("1.10.0"), Some("1.10.0-rc.1"), Some("1.10.0+build")] {
            assert_eq!(newer(older), None, "{older:?}");
        }
        for later in ["1.10.1-rc.1", "2.0.0", "latest", ""] {
            assert_eq!(newer(Some(later)).as_deref(), Some(later));
        }
    }

    #[test]
    fn a_record_grows_before_children_are_written_and_shrinks_when_they_are_gone() {
        let own = Version::new(1, 10, 0);
        let record = Record::read(&SET, &meta("ConfigMap/shop", Some("1.9.0")));
        let extended = record.extended(&places("Secret/shop"), &own).unwrap();
        assert_eq!(extended.places, places("ConfigMap/shop,Secret/shop"));
        assert_eq!(extended.release.as_deref(), Some("1.10.0"));
        assert_eq!(extended.extended(&places("Secret/shop"), &own), None);
        let by_older = extended.extended(&places("Pod/shop"), &Version::new(1, 0, 0)).unwrap();
        assert_eq!(by_older.release.as_deref(), Some("1.10.0"), "the newest release stays");
        assert_eq!(extended.without(&places("ConfigMap/shop")).unwrap().places, places("Secret/shop"));
        assert_eq!(extended.without(&places("Pod/shop")), None);
    }
}
