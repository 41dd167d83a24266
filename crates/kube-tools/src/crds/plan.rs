//! What to apply for a definition that may exist. No I/O.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, CustomResourceDefinitionVersion as Version,
};
use kube_core::ObjectMeta;

use super::older;

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
/// Versions that are stored and not `wanted` are kept: objects may be stored in them, and clients may use them. What they need is kept
/// with them: their conversion, and if they are newer than `wanted`, all that is stored. Older ones are no longer the storage version. The
/// definition is applied only to the version of it that was read, so that none is lost in between.
pub(super) fn plan(wanted: &CustomResourceDefinition, stored: Option<&CustomResourceDefinition>) -> Step {
    let mut definition = Box::new(without_server_fields(wanted.clone()));
    let Some(stored) = stored else { return Step::Apply { definition, kept: Vec::new() } };
    if stored.metadata.deletion_timestamp.is_some() {
        return Step::AwaitDeletion;
    }
    let is_kept = |version: &&Version| !wanted.spec.versions.iter().any(|it| it.name == version.name);
    let kept: Vec<_> = stored.spec.versions.iter().filter(is_kept).cloned().collect();
    let names = kept.iter().map(|version| version.name.clone()).collect();
    if older::is_older(wanted, stored) {
        let older = std::mem::replace(&mut *definition, without_server_fields(stored.clone()));
        older::add(&mut definition, older);
    } else if !kept.is_empty() {
        definition
            .spec
            .versions
            .extend(kept.into_iter().map(|version| Version { storage: false, ..version }));
        if !converts(&definition) {
            definition.spec.conversion.clone_from(&stored.spec.conversion);
        }
    }
    definition.metadata.resource_version.clone_from(&stored.metadata.resource_version);
    Step::Apply { definition, kept: names }
}

/// Whether its versions differ by more than their name, so that a webhook converts objects.
fn converts(crd: &CustomResourceDefinition) -> bool {
    crd.spec.conversion.as_ref().is_some_and(|conversion| conversion.strategy != "None")
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

    fn with_webhook(mut crd: CustomResourceDefinition) -> CustomResourceDefinition {
        let conversion = json!({ "strategy": "Webhook", "webhook": { "clientConfig": { "url": "https://a.example" }, "conversionReviewVersions": ["v1"] } });
        crd.spec.conversion = Some(serde_json::from_value(conversion).unwrap());
        crd
    }

    #[test]
    fn a_newer_version_keeps_its_storage_and_its_conversion() {
        let stored = with_webhook(crd(&[("v1", false), ("v2", true)]));
        let Step::Apply { definition, kept } = plan(&crd(&[("v1", true)]), Some(&stored)) else { panic!() };
        assert_eq!((*definition, kept), (stored, vec!["v2".to_owned()]));
    }

    #[test]
    fn an_older_version_keeps_its_conversion_unless_the_newer_definition_has_one() {
        let stored = with_webhook(crd(&[("v1", true)]));
        let applied = |wanted: CustomResourceDefinition| match plan(&wanted, Some(&stored)) {
            Step::Apply { definition, .. } => definition.spec.conversion,
            Step::AwaitDeletion => panic!(),
        };
        assert_eq!(applied(crd(&[("v2", true)])), stored.spec.conversion);
        let mut none = crd(&[("v2", true)]);
        none.spec.conversion = Some(serde_json::from_value(json!({ "strategy": "None" })).unwrap());
        assert_eq!(applied(none), stored.spec.conversion);
        let mut other = with_webhook(crd(&[("v2", true)]));
        other
            .spec
            .conversion
            .as_mut()
            .unwrap()
            .webhook
            .as_mut()
            .unwrap()
            .conversion_review_versions
            .push("v2".into());
        assert_eq!(applied(other.clone()), other.spec.conversion);
        assert_eq!(applied(crd(&[("v1", true)])), None, "no version is kept");
    }

    #[test]
    fn a_definition_that_is_being_deleted_is_not_changed() {
        let mut stored = crd(&[("v1", true)]);
        stored.metadata.deletion_timestamp =
            Some(serde_json::from_value(json!("2026-01-01T00:00:00Z")).unwrap());
        assert_eq!(plan(&crd(&[("v1", true)]), Some(&stored)), Step::AwaitDeletion);
    }
}
