//! Several versions of a kind, each derived on its own, as the one definition that a server takes.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, CustomResourceDefinitionSpec,
};

/// Why definitions do not go together.
///
/// ```
/// use kube_core::crd::{MergeError, merge_crds};
///
/// let nothing = merge_crds(vec![], "v1").unwrap_err();
/// assert!(matches!(nothing, MergeError::MissingCrds));
/// assert_eq!(nothing.to_string(), "no definitions given: pass at least one `crd()`");
/// ```
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// There was nothing to merge.
    #[error("no definitions given: pass at least one `crd()`")]
    MissingCrds,

    /// No definition has the version that is to be stored.
    #[error("no definition has the version `{0}` that is to be stored")]
    MissingStoredApi(String),

    /// The definition of the stored version has no such version; kept for callers that match on it.
    #[error("the definition to start from has no version `{0}`")]
    MissingRootVersion(String),

    /// A definition has no version at all.
    #[error("a definition has no versions: each must have exactly one")]
    MissingVersions,

    /// A definition has several versions already.
    #[error("a definition has more than one version: merge definitions of one version each")]
    MultiVersionCrd,

    /// The definitions are not versions of one kind: says which property differs, or which version comes twice.
    #[error("the definitions do not go together: {0}")]
    PropertyMismatch(String),
}

/// Puts definitions with one version each into one definition with all of them, in the order given.
///
/// `stored_apiversion` (such as `"v1"`) becomes the version that is stored, all others are served only. Metadata,
/// names and everything else besides the versions are taken from the definition of the stored version.
///
/// ```
/// use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
/// use kube_core::crd::merge_crds;
///
/// let of_version = |name: &str| -> CustomResourceDefinition {
///     serde_json::from_value(serde_json::json!({
///         "metadata": { "name": "pages.example.com" },
///         "spec": {
///             "group": "example.com", "scope": "Namespaced", "names": { "kind": "Page", "plural": "pages" },
///             "versions": [{ "name": name, "served": true, "storage": true }],
///         },
///     })).expect("this is a definition")
/// };
/// let both = merge_crds(vec![of_version("v1"), of_version("v2")], "v2")?;
/// let stored: Vec<_> = both.spec.versions.iter().map(|version| (version.name.as_str(), version.storage)).collect();
/// assert_eq!(stored, [("v1", false), ("v2", true)]);
/// # Ok::<(), kube_core::crd::MergeError>(())
/// ```
///
/// # Errors
///
/// [`MergeError`] when there are no definitions, one has not exactly one version, they differ in group, kind or scope,
/// two of them have the same version, or none has the stored one.
pub fn merge_crds(
    crds: Vec<CustomResourceDefinition>,
    stored_apiversion: &str,
) -> Result<CustomResourceDefinition, MergeError> {
    let first = crds.first().ok_or(MergeError::MissingCrds)?;
    for crd in &crds {
        match crd.spec.versions.len() {
            0 => return Err(MergeError::MissingVersions),
            1 => same_kind(&first.spec, &crd.spec)?,
            _ => return Err(MergeError::MultiVersionCrd),
        }
    }
    let mut root = crds
        .iter()
        .find(|crd| crd.spec.versions[0].name == stored_apiversion)
        .cloned()
        .ok_or_else(|| MergeError::MissingStoredApi(stored_apiversion.to_owned()))?;
    root.spec.versions.clear();
    for mut version in crds.into_iter().flat_map(|crd| crd.spec.versions) {
        if root.spec.versions.iter().any(|other| other.name == version.name) {
            return Err(MergeError::PropertyMismatch(format!(
                "two of them have the version `{}`",
                version.name
            )));
        }
        version.storage = version.name == stored_apiversion;
        root.spec.versions.push(version);
    }
    Ok(root)
}

fn same_kind(a: &CustomResourceDefinitionSpec, b: &CustomResourceDefinitionSpec) -> Result<(), MergeError> {
    for (property, same) in [
        ("group", a.group == b.group),
        ("names.kind", a.names.kind == b.names.kind),
        ("names.plural", a.names.plural == b.names.plural),
        ("scope", a.scope == b.scope),
    ] {
        if !same {
            return Err(MergeError::PropertyMismatch(format!("they differ in `spec.{property}`")));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crd(version: &str) -> CustomResourceDefinition {
        serde_json::from_value(serde_json::json!({
            "metadata": { "name": "docs.example.com", "labels": { "from": version } },
            "spec": {
                "group": "example.com",
                "scope": "Namespaced",
                "names": { "kind": "Doc", "plural": "docs" },
                "versions": [{ "name": version, "served": true, "storage": true }],
            },
        }))
        .unwrap()
    }

    fn versions(crd: &CustomResourceDefinition) -> Vec<(&str, bool, bool)> {
        crd.spec.versions.iter().map(|v| (v.name.as_str(), v.served, v.storage)).collect()
    }

    #[test]
    fn only_the_named_version_is_stored() {
        let merged = merge_crds(vec![crd("v1"), crd("v2"), crd("v1beta1")], "v2").unwrap();
        assert_eq!(versions(&merged), [("v1", true, false), ("v2", true, true), ("v1beta1", true, false)]);
        assert_eq!(merged.metadata.labels.unwrap()["from"], "v2");
    }

    #[test]
    fn what_is_not_served_stays_so() {
        let mut old = crd("v1");
        old.spec.versions[0].served = false;
        let merged = merge_crds(vec![old, crd("v2")], "v2").unwrap();
        assert_eq!(versions(&merged), [("v1", false, false), ("v2", true, true)]);
    }

    #[test]
    fn each_way_not_to_go_together_is_told() {
        assert!(matches!(merge_crds(vec![], "v1"), Err(MergeError::MissingCrds)));
        assert!(
            matches!(merge_crds(vec![crd("v1")], "v3"), Err(MergeError::MissingStoredApi(version)) if version == "v3")
        );
        let mut none = crd("v1");
        none.spec.versions.clear();
        assert!(matches!(merge_crds(vec![crd("v1"), none], "v1"), Err(MergeError::MissingVersions)));
        let merged = merge_crds(vec![crd("v1"), crd("v2")], "v1").unwrap();
        assert!(matches!(merge_crds(vec![merged], "v1"), Err(MergeError::MultiVersionCrd)));
    }

    #[test]
    fn the_property_that_differs_is_named() {
        let differs = |change: fn(&mut CustomResourceDefinitionSpec)| {
            let mut other = crd("v2");
            change(&mut other.spec);
            match merge_crds(vec![crd("v1"), other], "v1") {
                Err(MergeError::PropertyMismatch(property)) => property,
                other => panic!("expected a mismatch, got {other:?}"),
            }
        };
        assert_eq!(differs(|spec| spec.group = "other.com".into()), "they differ in `spec.group`");
        assert_eq!(differs(|spec| spec.names.kind = "Other".into()), "they differ in `spec.names.kind`");
        assert_eq!(differs(|spec| spec.names.plural = "docks".into()), "they differ in `spec.names.plural`");
        assert_eq!(differs(|spec| spec.scope = "Cluster".into()), "they differ in `spec.scope`");
    }

    #[test]
    fn a_version_that_comes_twice_is_named() {
        let twice = merge_crds(vec![crd("v1"), crd("v2"), crd("v1")], "v2").unwrap_err();
        assert!(matches!(twice, MergeError::PropertyMismatch(_)));
        assert_eq!(
            twice.to_string(),
            "the definitions do not go together: two of them have the version `v1`"
        );
        let mut other = crd("v2");
        other.spec.group = "other.com".into();
        let differing = merge_crds(vec![crd("v1"), other], "v1").unwrap_err();
        assert_eq!(differing.to_string(), "the definitions do not go together: they differ in `spec.group`");
    }
}
