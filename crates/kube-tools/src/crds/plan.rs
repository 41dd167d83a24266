//! What to apply for a definition that may exist. No I/O.

use std::collections::BTreeMap;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, CustomResourceDefinitionNames, CustomResourceDefinitionSpec,
    CustomResourceDefinitionVersion as Version,
};
use kube_core::ObjectMeta;
use serde_json::Value;

use super::conversion::converts;
use super::older;
use super::schema::{self, Add};

/// The annotation without which the server refuses kinds of the groups of Kubernetes.
const APPROVAL: &str = "api-approved.kubernetes.io";

/// The next step for a definition.
#[derive(Debug, PartialEq)]
pub(super) enum Step {
    /// There is none: create this.
    Create(Box<CustomResourceDefinition>),
    /// Apply this.
    Apply(Box<CustomResourceDefinition>, Kept),
    /// The stored definition is being deleted, with all its objects.
    AwaitDeletion,
}

/// What stays of the stored definition, which the program's has not.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Kept {
    pub(super) versions: Vec<String>,
    pub(super) fields: Vec<String>,
    /// The program's definition is the older one: everything stays, and it only adds.
    pub(super) only_added_to: bool,
}

/// What to do, given the definition that is stored.
///
/// Versions and fields that are stored and not `desired` are kept: objects may be stored with them, and clients may use them. What versions
/// need is kept with them: their conversion, and if `desired` is older, all that is stored. The definition is created only where there is
/// none, and applied only to the version of it that was read, so that nothing is lost in between.
pub(super) fn plan(desired: &CustomResourceDefinition, stored: Option<&CustomResourceDefinition>) -> Step {
    let mut definition = Box::new(without_server_fields(desired.clone()));
    let Some(stored) = stored else { return Step::Create(definition) };
    if stored.metadata.deletion_timestamp.is_some() {
        return Step::AwaitDeletion;
    }
    let is_kept = |version: &&Version| !desired.spec.versions.iter().any(|it| it.name == version.name);
    let versions = stored.spec.versions.iter().filter(is_kept).cloned().collect::<Vec<_>>();
    let mut kept = Kept {
        versions: versions.iter().map(|version| version.name.clone()).collect(),
        only_added_to: older::is_older(desired, stored),
        ..Kept::default()
    };
    if kept.only_added_to {
        let older = std::mem::replace(&mut *definition, without_server_fields(stored.clone()));
        older::add(&mut definition, older);
    } else {
        kept.fields = keep_fields(&mut definition, stored);
        let versions = versions.into_iter().map(|version| Version { storage: false, ..version });
        definition.spec.versions.extend(versions);
        if definition.spec.versions.len() > 1 && !converts(&definition) && converts(stored) {
            definition.spec.conversion.clone_from(&stored.spec.conversion);
        }
    }
    definition.metadata.resource_version.clone_from(&stored.metadata.resource_version);
    Step::Apply(definition, kept)
}

/// Adds the fields of the stored versions, and returns them.
fn keep_fields(definition: &mut CustomResourceDefinition, stored: &CustomResourceDefinition) -> Vec<String> {
    let mut fields = Vec::new();
    for version in &mut definition.spec.versions {
        if let Some(stored) = stored.spec.versions.iter().find(|it| it.name == version.name) {
            fields.extend(schema::add(version, stored.schema.clone(), Add::Fields));
        }
    }
    fields
}

/// What a definition cannot be without: each later apply has it too, so that no field stays because the create has written it. Empty
/// defaults are left to the apply: Kubernetes 1.20 takes them for null in a create, and refuses it.
pub(super) fn essential(crd: &CustomResourceDefinition) -> CustomResourceDefinition {
    let approval = crd.metadata.annotations.iter().flatten().filter(|(key, _)| *key == APPROVAL);
    let approval: BTreeMap<_, _> = approval.map(|(key, value)| (key.clone(), value.clone())).collect();
    let metadata = ObjectMeta {
        name: crd.metadata.name.clone(),
        annotations: Some(approval).filter(|annotations| !annotations.is_empty()),
        ..ObjectMeta::default()
    };
    let names = &crd.spec.names;
    let names = CustomResourceDefinitionNames {
        plural: names.plural.clone(),
        kind: names.kind.clone(),
        ..CustomResourceDefinitionNames::default()
    };
    CustomResourceDefinition {
        metadata,
        spec: CustomResourceDefinitionSpec {
            names,
            versions: without_empty_defaults(&crd.spec.versions),
            ..crd.spec.clone()
        },
        status: None,
    }
}

fn without_empty_defaults(versions: &[Version]) -> Vec<Version> {
    fn remove(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                fields.retain(|key, value| key != "default" || !(value.is_null() || value == ""));
                fields.values_mut().for_each(remove);
            }
            Value::Array(items) => items.iter_mut().for_each(remove),
            _ => {}
        }
    }
    let stripped = serde_json::to_value(versions).and_then(|mut value| {
        remove(&mut value);
        serde_json::from_value(value)
    });
    stripped.unwrap_or_else(|_| versions.to_vec())
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

    fn applied(
        desired: &CustomResourceDefinition,
        stored: &CustomResourceDefinition,
    ) -> (CustomResourceDefinition, Kept) {
        match plan(desired, Some(stored)) {
            Step::Apply(definition, kept) => (*definition, kept),
            step => panic!("{step:?}"),
        }
    }

    #[test]
    fn a_new_definition_is_created_as_it_is() {
        let mut desired = crd(&[("v1", true)]);
        let expected = Step::Create(Box::new(desired.clone()));
        assert_eq!(plan(&desired, None), expected);
        desired.metadata.managed_fields = Some(vec![Default::default()]);
        desired.metadata.resource_version = Some("1".into());
        assert_eq!(plan(&desired, None), expected, "as read from another server");
    }

    #[test]
    fn versions_that_the_program_does_not_know_are_kept_without_storage() {
        let mut stored = crd(&[("v1alpha1", false), ("v1", true), ("v2", false)]);
        stored.metadata.resource_version = Some("7".into());
        let (definition, kept) = applied(&crd(&[("v2", true)]), &stored);
        assert_eq!(kept.versions, ["v1alpha1", "v1"]);
        assert!(!kept.only_added_to);
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
        let (definition, kept) = applied(&crd(&[("v1", true)]), &stored);
        let expected = Kept { versions: vec!["v2".to_owned()], only_added_to: true, ..Kept::default() };
        assert_eq!((definition, kept), (stored, expected));
    }

    #[test]
    fn an_older_version_keeps_its_conversion_unless_the_newer_definition_has_one() {
        let stored = with_webhook(crd(&[("v1", true)]));
        let applied = |desired: CustomResourceDefinition| applied(&desired, &stored).0.spec.conversion;
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
        assert_eq!(applied(crd(&[("v1", true)])), None, "there is nothing to convert");
    }

    /// As `cargo kube add version` prescribes it: the next release only moves the storage version, and adds a field.
    #[test]
    fn the_storage_version_does_not_move_back_though_both_know_all_versions() {
        let with_field = |mut crd: CustomResourceDefinition| {
            let schema = json!({ "openAPIV3Schema": { "type": "object", "properties": { "new": { "type": "string" } } } });
            crd.spec.versions[1].schema = Some(serde_json::from_value(schema).unwrap());
            crd
        };
        let stored = with_webhook(with_field(crd(&[("v1", false), ("v2", true)])));
        let (definition, kept) = applied(&crd(&[("v1", true), ("v2", false)]), &stored);
        assert_eq!((definition, kept.only_added_to), (stored, true));
    }

    /// No version tells the older release: it is a rollback, or a release that has given up a field or a webhook.
    #[test]
    fn fields_and_the_conversion_of_versions_are_kept() {
        let with_field = |mut crd: CustomResourceDefinition, name: &str| {
            let schema = json!({ "openAPIV3Schema": { "type": "object", "properties": { name: { "type": "string" } } } });
            crd.spec.versions[0].schema = Some(serde_json::from_value(schema).unwrap());
            crd
        };
        let stored = with_webhook(with_field(crd(&[("v1", true), ("v2", false)]), "new"));
        let (definition, kept) = applied(&with_field(crd(&[("v1", true), ("v2", false)]), "old"), &stored);
        assert_eq!((kept.fields, kept.only_added_to), (vec!["v1 new".to_owned()], false));
        assert_eq!(definition.spec.conversion, stored.spec.conversion);
        let schema =
            definition.spec.versions[0].schema.as_ref().unwrap().open_api_v3_schema.as_ref().unwrap();
        assert_eq!(schema.properties.as_ref().unwrap().keys().collect::<Vec<_>>(), ["new", "old"]);
    }

    /// A release that gives up an alpha version is not an older one: what it changes is applied.
    #[test]
    fn a_stored_alpha_version_does_not_keep_a_release_from_changing_the_others() {
        let stored = crd(&[("v1", true), ("v2alpha1", false)]);
        let mut desired = crd(&[("v1", true)]);
        desired.spec.versions[0].subresources =
            Some(serde_json::from_value(json!({ "status": {} })).unwrap());
        let (definition, kept) = applied(&desired, &stored);
        assert_eq!((kept.versions, kept.only_added_to), (vec!["v2alpha1".to_owned()], false));
        assert_eq!(
            definition.spec.versions,
            [desired.spec.versions[0].clone(), stored.spec.versions[1].clone()]
        );
    }

    #[test]
    fn a_definition_that_is_being_deleted_is_not_changed() {
        let mut stored = crd(&[("v1", true)]);
        stored.metadata.deletion_timestamp =
            Some(serde_json::from_value(json!("2026-01-01T00:00:00Z")).unwrap());
        assert_eq!(plan(&crd(&[("v1", true)]), Some(&stored)), Step::AwaitDeletion);
    }

    #[test]
    fn empty_defaults_are_left_to_the_apply() {
        let mut crd = crd(&[("v1", true)]);
        let schema = json!({ "openAPIV3Schema": { "type": "object", "properties": {
            "default": { "type": "string", "default": "" }, "size": { "type": "integer", "default": 3 },
        } } });
        crd.spec.versions[0].schema = Some(serde_json::from_value(schema).unwrap());
        let created = serde_json::to_value(essential(&crd).spec.versions).unwrap();
        let fields = &created[0]["schema"]["openAPIV3Schema"]["properties"];
        assert_eq!(
            *fields,
            json!({ "default": { "type": "string" }, "size": { "type": "integer", "default": 3 } })
        );
    }
}
