//! The built-in kinds, from `data/kinds.jsonl`.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::schema::{Schema, types};

static TABLE: &str = include_str!("../../data/kinds.jsonl");

/// A built-in kind: one row of the table.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct BuiltInKind {
    /// API group, empty for the core group.
    pub(crate) group: &'static str,
    pub(crate) version: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) plural: &'static str,
    pub(crate) singular: &'static str,
    pub(crate) short_names: Vec<&'static str>,
    pub(crate) categories: Vec<&'static str>,
    pub(crate) namespaced: bool,
    /// Verbs of discovery, sorted.
    pub(crate) verbs: Vec<&'static str>,
    /// Sorted by name.
    pub(crate) subresources: Vec<SubresourceRow>,
    /// Empty for kinds that are only created, such as reviews.
    pub(crate) list_kind: &'static str,
    /// Name of its type in OpenAPI documents.
    pub(crate) type_name: &'static str,
    /// What every response says, if the kind is deprecated.
    #[serde(default)]
    pub(crate) warning: Option<&'static str>,
}

/// A path below an object.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct SubresourceRow {
    pub(crate) name: &'static str,
    /// Group and version of its kind; both empty if they are the parent's.
    pub(crate) group: &'static str,
    pub(crate) version: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) verbs: Vec<&'static str>,
}

/// All built-in kinds, sorted by group, version and plural. Parsed once, in about a millisecond.
pub(crate) fn kinds() -> &'static [BuiltInKind] {
    static KINDS: LazyLock<Vec<BuiltInKind>> = LazyLock::new(|| {
        let line = |line| {
            serde_json::from_str(line)
                .expect("invariant: every line of the kind table is a kind, checked by a test")
        };
        TABLE.lines().map(line).collect()
    });
    &KINDS
}

/// The schema of a built-in kind. Types are parsed on first use, once per process.
pub(crate) fn schema(kind: &BuiltInKind) -> Schema {
    types::by_name(kind.type_name)
        .expect("invariant: every kind's type is in the type table, checked by a test")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(group: &str, plural: &str) -> &'static BuiltInKind {
        kinds().iter().find(|k| k.group == group && k.plural == plural).unwrap()
    }

    #[test]
    fn every_kind_has_metadata_or_is_only_created() {
        assert!(kinds().len() > 90);
        for kind in kinds() {
            let schema = schema(kind);
            assert!(schema.root().node().properties.contains_key("metadata"), "{}", kind.type_name);
            assert_eq!(kind.list_kind.is_empty(), kind.verbs == ["create"], "{}", kind.type_name);
        }
    }

    #[test]
    fn kinds_are_sorted_and_unique() {
        let keys: Vec<_> = kinds().iter().map(|k| (k.group, k.version, k.plural)).collect();
        let mut sorted = keys.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(keys, sorted);
    }

    #[test]
    fn names_and_subresources_are_those_of_the_genuine_server() {
        let pods = find("", "pods");
        assert!(pods.namespaced && pods.kind == "Pod" && pods.list_kind == "PodList");
        assert_eq!((&pods.short_names[..], &pods.categories[..]), (&["po"][..], &["all"][..]));
        let names: Vec<_> = pods.subresources.iter().map(|s| s.name).collect();
        let want = [
            "attach",
            "binding",
            "ephemeralcontainers",
            "eviction",
            "exec",
            "log",
            "portforward",
            "proxy",
            "resize",
            "status",
        ];
        assert_eq!(names, want);
        let eviction = pods.subresources.iter().find(|s| s.name == "eviction").unwrap();
        assert_eq!((eviction.group, eviction.version, eviction.kind), ("policy", "v1", "Eviction"));
        let deployments = find("apps", "deployments");
        assert_eq!(
            deployments.subresources.iter().map(|s| (s.name, s.kind)).collect::<Vec<_>>(),
            [("scale", "Scale"), ("status", "Deployment")]
        );
        assert!(
            !find("", "namespaces").namespaced && !find("", "namespaces").verbs.contains(&"deletecollection")
        );
        assert_eq!(find("authorization.k8s.io", "selfsubjectaccessreviews").verbs, ["create"]);
        assert_eq!(find("apiextensions.k8s.io", "customresourcedefinitions").short_names, ["crd", "crds"]);
    }
}
