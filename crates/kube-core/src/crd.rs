//! Custom resource definitions: that of a derived kind, and several versions merged into one definition.

mod definition;

#[doc(hidden)]
pub use definition::{Column, Definition, Scale};

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, CustomResourceDefinitionSpec,
};

use crate::discovery::ApiResource;

/// The items for definitions of `apiextensions.k8s.io/v1`.
pub mod v1 {
    pub use super::{CustomResourceExt, MergeError, merge_crds};
}

/// The definition of a custom resource type; `#[derive(CustomResource)]` implements the trait.
///
/// ```
/// use kube_core::CustomResourceExt;
///
/// /// One line about a kind.
/// fn describe<K: CustomResourceExt>() -> String {
///     let versions = K::crd().spec.versions.len();
///     let short = K::shortnames().join(", ");
///     format!("{} ({short}) is defined by {} in {versions} version(s)", K::api_resource().kind, K::crd_name())
/// }
/// ```
pub trait CustomResourceExt {
    /// The definition, ready to apply to a server.
    fn crd() -> CustomResourceDefinition;

    /// The name of the definition: `plural.group`.
    fn crd_name() -> &'static str;

    /// Group, version, kind and plural of the resource.
    fn api_resource() -> ApiResource;

    /// Short names that kubectl accepts in place of the plural.
    fn shortnames() -> &'static [&'static str];
}

/// Why definitions cannot be merged.
///
/// ```
/// use kube_core::crd::{MergeError, merge_crds};
///
/// let nothing = merge_crds(vec![], "v1").unwrap_err();
/// assert!(matches!(nothing, MergeError::MissingCrds));
/// assert_eq!(nothing.to_string(), "empty list of CRDs cannot be merged");
/// ```
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// The list of definitions is empty.
    #[error("empty list of CRDs cannot be merged")]
    MissingCrds,

    /// No definition has the storage version.
    #[error("stored api version {0} not found")]
    MissingStoredApi(String),

    /// The definition of the storage version has no such version. Never returned; kept for callers that match on it.
    #[error("root api version {0} not found")]
    MissingRootVersion(String),

    /// A definition has no versions.
    #[error("given CRD must have versions")]
    MissingVersions,

    /// A definition has more than one version.
    #[error("mergeable CRDs cannot have multiple versions")]
    MultiVersionCrd,

    /// The definitions are not versions of one kind: the property that differs, or the version that occurs twice.
    #[error("the definitions cannot be merged: {0}")]
    PropertyMismatch(String),
}

/// Merges definitions with one version each into one definition with all versions, in the order of the arguments.
///
/// `stored_apiversion` (such as `"v1"`) becomes the storage version, the others are served only. Metadata, names and
/// everything else besides the versions are copied from the definition of the storage version.
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
/// [`MergeError`] if there are no definitions, one does not have exactly one version, they differ in group, kind or scope,
/// two have the same version, or none has the storage version.
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
    fn only_the_requested_version_is_stored() {
        let merged = merge_crds(vec![crd("v1"), crd("v2"), crd("v1beta1")], "v2").unwrap();
        assert_eq!(versions(&merged), [("v1", true, false), ("v2", true, true), ("v1beta1", true, false)]);
        assert_eq!(merged.metadata.labels.unwrap()["from"], "v2");
    }

    #[test]
    fn a_version_that_is_not_served_stays_unserved() {
        let mut old = crd("v1");
        old.spec.versions[0].served = false;
        let merged = merge_crds(vec![old, crd("v2")], "v2").unwrap();
        assert_eq!(versions(&merged), [("v1", false, false), ("v2", true, true)]);
    }

    #[test]
    fn each_wrong_set_of_definitions_has_its_error() {
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
    fn a_mismatch_names_the_property_that_differs() {
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
    fn a_duplicate_version_is_named() {
        let twice = merge_crds(vec![crd("v1"), crd("v2"), crd("v1")], "v2").unwrap_err();
        assert!(matches!(twice, MergeError::PropertyMismatch(_)));
        assert_eq!(twice.to_string(), "the definitions cannot be merged: two of them have the version `v1`");
        let mut other = crd("v2");
        other.spec.group = "other.com".into();
        let differing = merge_crds(vec![crd("v1"), other], "v1").unwrap_err();
        assert_eq!(differing.to_string(), "the definitions cannot be merged: they differ in `spec.group`");
    }
}
