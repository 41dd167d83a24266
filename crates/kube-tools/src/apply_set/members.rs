//! [`Members`]: the kinds and namespaces that the parent of a set records.

use std::collections::BTreeSet;
use std::fmt;

use kube_core::{ApiResource, DynamicObject};

/// Separates the entries of the annotations.
const SEPARATOR: char = ',';

/// A kind in any version.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct GroupKind {
    pub(super) group: String,
    pub(super) kind: String,
}

impl GroupKind {
    pub(super) fn of(resource: &ApiResource) -> Self {
        Self { group: resource.group.clone(), kind: resource.kind.clone() }
    }

    fn parse(text: &str) -> Self {
        let (kind, group) = text.split_once('.').unwrap_or((text, ""));
        Self { group: group.to_owned(), kind: kind.to_owned() }
    }
}

impl fmt::Display for GroupKind {
    /// `Deployment.apps`; kinds of the core group have no dot.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.group.as_str() {
            "" => f.write_str(&self.kind),
            group => write!(f, "{}.{group}", self.kind),
        }
    }
}

/// Where the members of a set are: their kinds, and the namespaces of those that have one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Members {
    pub(super) kinds: BTreeSet<GroupKind>,
    pub(super) namespaces: BTreeSet<String>,
}

impl Members {
    pub(super) fn of(objects: &[(ApiResource, DynamicObject)]) -> Self {
        let namespaces = objects.iter().filter_map(|(_, object)| object.metadata.namespace.clone());
        Self {
            kinds: objects.iter().map(|(resource, _)| GroupKind::of(resource)).collect(),
            namespaces: namespaces.filter(|namespace| !namespace.is_empty()).collect(),
        }
    }

    /// From the annotations of a parent in `parent_namespace`, which is always one of the namespaces.
    pub(super) fn parse(kinds: &str, namespaces: &str, parent_namespace: Option<&str>) -> Self {
        let entries = |text: &str| -> Vec<String> {
            let entries = text.split(SEPARATOR).map(str::trim).filter(|entry| !entry.is_empty());
            entries.map(str::to_owned).collect()
        };
        let namespaces = entries(namespaces).into_iter().chain(parent_namespace.map(str::to_owned));
        Self {
            kinds: entries(kinds).iter().map(|entry| GroupKind::parse(entry)).collect(),
            namespaces: namespaces.collect(),
        }
    }

    pub(super) fn union(&self, other: &Self) -> Self {
        Self {
            kinds: self.kinds.union(&other.kinds).cloned().collect(),
            namespaces: self.namespaces.union(&other.namespaces).cloned().collect(),
        }
    }

    /// The annotation with the kinds, in the order of their texts.
    pub(super) fn kinds_text(&self) -> String {
        let texts: BTreeSet<String> = self.kinds.iter().map(ToString::to_string).collect();
        join(&texts)
    }

    /// The annotation with the namespaces other than that of the parent.
    pub(super) fn namespaces_text(&self, parent_namespace: Option<&str>) -> String {
        let others = self.namespaces.iter().filter(|namespace| Some(namespace.as_str()) != parent_namespace);
        join(&others.cloned().collect())
    }
}

fn join(entries: &BTreeSet<String>) -> String {
    entries.iter().map(String::as_str).collect::<Vec<_>>().join(&SEPARATOR.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn annotations_are_sorted_and_read_back() {
        let members = Members::parse("Secret,Deployment.apps,,ConfigMap", "b, a", Some("own"));
        assert_eq!(members.kinds_text(), "ConfigMap,Deployment.apps,Secret");
        assert_eq!(members.namespaces_text(Some("own")), "a,b");
        assert_eq!(members.namespaces_text(None), "a,b,own");
        let again = Members::parse(&members.kinds_text(), &members.namespaces_text(Some("own")), Some("own"));
        assert_eq!(again, members);
        assert_eq!(Members::parse("", "", None), Members::default());
        assert_eq!(Members::default().kinds_text(), "");
    }
}
