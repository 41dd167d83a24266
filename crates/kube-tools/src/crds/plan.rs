//! What to apply for a definition that may exist. No I/O.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube_core::ObjectMeta;

/// The next step for a definition.
#[derive(Debug, PartialEq)]
pub(super) enum Step {
    /// Apply this.
    Apply {
        definition: Box<CustomResourceDefinition>,
        /// Versions of the stored definition that the program's has not.
        kept: Vec<String>,
    },
    /// The stored definition is being deleted, with all its objects.
    AwaitDeletion,
}

/// What to do, given the definition that is stored.
///
/// Versions that are stored and not `wanted` are kept: objects may be stored in them, and clients may use them. They are no longer the
/// storage version. The definition is applied only to the version of it that was read, so that none is lost in between.
pub(super) fn plan(wanted: &CustomResourceDefinition, stored: Option<&CustomResourceDefinition>) -> Step {
    let mut definition = Box::new(without_server_fields(wanted.clone()));
    let Some(stored) = stored else { return Step::Apply { definition, kept: Vec::new() } };
    if stored.metadata.deletion_timestamp.is_some() {
        return Step::AwaitDeletion;
    }
    definition.metadata.resource_version = stored.metadata.resource_version.clone();
    let mut kept = Vec::new();
    for version in &stored.spec.versions {
        if !definition.spec.versions.iter().any(|it| it.name == version.name) {
            kept.push(version.name.clone());
            let mut version = version.clone();
            version.storage = false;
            definition.spec.versions.push(version);
        }
    }
    Step::Apply { definition, kept }
}

/// The definition as a program writes it: of the metadata, what is not set by the server, and no status.
pub(super) fn without_server_fields(crd: CustomResourceDefinition) -> CustomResourceDefinition {
    let metadata = ObjectMeta {
        name: crd.metadata.name,
        labels: crd.metadata.labels,
        annotations: crd.metadata.annotations,
        finalizers: crd.metadata.finalizers,
        owner_references: crd.metadata.owner_references,
        ..ObjectMeta::default()
    };
    CustomResourceDefinition { metadata, spec: crd.spec, status: None }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn crd(versions: &[(&str, bool)]) -> CustomResourceDefinition {
        let versions: Vec<_> = versions
            .iter()
            .map(|(name, storage)| json!({ "name": name, "served": true, "storage": storage }))
            .collect();
        serde_json::from_value(json!({
            "metadata": { "name": "pages.example.com" },
            "spec": { "group": "example.com", "scope": "Namespaced", "names": { "plural": "pages", "kind": "Page" }, "versions": versions },
        }))
        .unwrap()
    }

    #[test]
    fn a_new_definition_is_applied_as_it_is() {
        let mut wanted = crd(&[("v1", true)]);
        let expected = Step::Apply { definition: Box::new(wanted.clone()), kept: vec![] };
        assert_eq!(plan(&wanted, None), expected);
        wanted.metadata.managed_fields = Some(vec![Default::default()]);
        wanted.metadata.resource_version = Some("1".into());
        assert_eq!(plan(&wanted, None), expected, "as read from another server");
    }

    #[test]
    fn versions_that_the_program_does_not_know_are_kept_without_storage() {
        let mut stored = crd(&[("v1alpha1", false), ("v1", true), ("v2", false)]);
        stored.metadata.resource_version = Some("7".into());
        let Step::Apply { definition, kept } = plan(&crd(&[("v2", true)]), Some(&stored)) else { panic!() };
        assert_eq!(kept, ["v1alpha1", "v1"]);
        let versions: Vec<_> =
            definition.spec.versions.iter().map(|it| (it.name.as_str(), it.storage)).collect();
        assert_eq!(versions, [("v2", true), ("v1alpha1", false), ("v1", false)]);
        assert_eq!(definition.metadata.resource_version.as_deref(), Some("7"));
    }

    #[test]
    fn a_definition_that_is_being_deleted_is_not_changed() {
        let mut stored = crd(&[("v1", true)]);
        stored.metadata.deletion_timestamp =
            Some(serde_json::from_value(json!("2026-01-01T00:00:00Z")).unwrap());
        assert_eq!(plan(&crd(&[("v1", true)]), Some(&stored)), Step::AwaitDeletion);
    }
}
