//! An older definition over a newer one: what is stored stays, and the older one only adds to it. Pure.

use std::collections::BTreeMap;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, CustomResourceDefinitionVersion as Version,
};
use kube_core::Version as Age;

use super::conversion::converts;
use super::schema::{self, Add};

/// Whether `desired` is surely of an older release of its program than `stored`: it would move the storage version back to an older one, or
/// a version is stored that is newer and no less stable than each of its own.
///
/// A stored version that is newer and less stable (`v2alpha1` beside `v1`) proves nothing: a newer release may have given it up.
pub(super) fn is_older(desired: &CustomResourceDefinition, stored: &CustomResourceDefinition) -> bool {
    moves_storage_back(desired, stored) || has_newer_version(stored, desired)
}

fn moves_storage_back(desired: &CustomResourceDefinition, stored: &CustomResourceDefinition) -> bool {
    let age = |crd: &CustomResourceDefinition| {
        let storage = crd.spec.versions.iter().find(|version| version.storage)?;
        Some(Age::parse(&storage.name).generation())
    };
    age(desired).zip(age(stored)).is_some_and(|(desired, stored)| desired < stored)
}

fn has_newer_version(stored: &CustomResourceDefinition, desired: &CustomResourceDefinition) -> bool {
    let ages = |crd: &CustomResourceDefinition| -> Vec<Age> {
        crd.spec.versions.iter().map(|version| Age::parse(&version.name)).collect()
    };
    let desired = ages(desired);
    let is_newer = |a: &Age, b: &Age| a.generation() > b.generation() && a.priority() > b.priority();
    ages(stored).iter().any(|stored| desired.iter().all(|desired| is_newer(stored, desired)))
}

/// Adds to `stored` what `desired` has more: versions, which do not become the storage version, and fields of versions that both have.
///
/// Nothing of `stored` is removed or changed, because values that only the newer release knows are lost at the next write without their
/// fields, their conversion or their storage version.
pub(super) fn add(stored: &mut CustomResourceDefinition, desired: CustomResourceDefinition) {
    add_entries(&mut stored.metadata.labels, desired.metadata.labels.clone());
    add_entries(&mut stored.metadata.annotations, desired.metadata.annotations.clone());
    let can_serve = add_conversion(stored, &desired);
    for version in desired.spec.versions {
        match stored.spec.versions.iter_mut().find(|it| it.name == version.name) {
            None => {
                let served = version.served && can_serve;
                stored.spec.versions.push(Version { storage: false, served, ..version });
            }
            Some(present) => {
                // The older release needs it, whether or not the newer one does.
                present.served |= version.served;
                schema::add(present, version.schema, Add::FieldsAndValues);
            }
        }
    }
}

/// Versions that only `desired` has need its webhook, if it has one and `stored` has none. Returns whether they can be served: a webhook
/// that does not know a stored version would fail for its objects, and without the webhook, the fields of the others are lost.
fn add_conversion(stored: &mut CustomResourceDefinition, desired: &CustomResourceDefinition) -> bool {
    let has = |crd: &CustomResourceDefinition, version: &Version| {
        crd.spec.versions.iter().any(|it| it.name == version.name)
    };
    let adds_none = desired.spec.versions.iter().all(|version| has(stored, version));
    if adds_none || converts(stored) || !converts(desired) {
        return true;
    }
    let knows_all = stored.spec.versions.iter().all(|version| has(desired, version));
    if knows_all {
        stored.spec.conversion.clone_from(&desired.spec.conversion);
    }
    knows_all
}

fn add_entries(stored: &mut Option<BTreeMap<String, String>>, desired: Option<BTreeMap<String, String>>) {
    for (key, value) in desired.into_iter().flatten() {
        stored.get_or_insert_default().entry(key).or_insert(value);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn crd(metadata: Value, spec: Value) -> CustomResourceDefinition {
        let mut json = json!({ "metadata": metadata, "spec": {
            "group": "example.com", "scope": "Namespaced", "names": { "plural": "pages", "kind": "Page" },
        } });
        json["spec"].as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
        serde_json::from_value(json).unwrap()
    }

    /// The first one is the storage version.
    fn versions(names: &[&str]) -> CustomResourceDefinition {
        let version =
            |(at, name): (usize, &&str)| json!({ "name": name, "served": true, "storage": at == 0 });
        let versions: Vec<_> = names.iter().enumerate().map(version).collect();
        crd(json!({}), json!({ "versions": versions }))
    }

    #[test]
    fn it_is_older_by_its_storage_version_or_by_a_newer_one_that_is_as_stable() {
        for (desired, stored, expected) in [
            (&["v1"][..], &["v1", "v2"][..], true),
            (&["v1"], &["v2alpha1"], true),
            (&["v1beta1"], &["v1"], true),
            (&["v1", "v2"], &["v1", "v1alpha1"], false),
            (&["v1"], &["v1"], false),
            (&["v2"], &["v1"], false),
            // Both versions are known to both; only the storage version tells.
            (&["v1", "v2"], &["v2", "v1"], true),
            (&["v2", "v1"], &["v1", "v2"], false),
            (&["v1", "v2alpha1"], &["v2alpha1", "v1"], true),
            // Given up, or not known yet.
            (&["v1"], &["v1", "v2alpha1"], false),
            (&["v1"], &["v1", "v2", "v3alpha1"], true),
            (&["v1alpha1"], &["v1alpha1", "v1alpha2"], true),
        ] {
            assert_eq!(is_older(&versions(desired), &versions(stored)), expected, "{desired:?} {stored:?}");
        }
    }

    /// What only the older release converts would be converted by name.
    #[test]
    fn versions_that_only_the_older_one_has_are_served_with_its_conversion_or_not_at_all() {
        let webhook = json!({ "strategy": "Webhook", "webhook": { "clientConfig": { "url": "https://a.example" }, "conversionReviewVersions": ["v1"] } });
        let older = |names: &[&str]| {
            let mut crd = versions(names);
            crd.spec.conversion = Some(serde_json::from_value(webhook.clone()).unwrap());
            crd
        };
        let added = |mut stored: CustomResourceDefinition, desired: CustomResourceDefinition| {
            add(&mut stored, desired);
            let last = stored.spec.versions.pop().unwrap();
            (last.name, last.served, converts(&stored))
        };
        let beta = "v1beta1".to_owned();
        assert_eq!(added(versions(&["v1"]), older(&["v1beta1", "v1"])), (beta.clone(), true, true));
        assert_eq!(
            added(versions(&["v2", "v1"]), older(&["v1", "v1beta1"])),
            (beta.clone(), false, false),
            "the webhook does not know v2"
        );
        assert_eq!(added(versions(&["v1"]), versions(&["v1beta1", "v1"])), (beta, true, false));
        let same = ("v1".to_owned(), true, false);
        assert_eq!(added(versions(&["v2", "v1"]), older(&["v1"])), same, "nothing is added");
    }

    #[test]
    fn what_only_one_of_both_has_is_in_the_result_and_the_newer_wins() {
        let version = |name: &str, served: bool, storage: bool, schema: Value| json!({ "name": name, "served": served, "storage": storage, "schema": { "openAPIV3Schema": schema } });
        let text = || json!({ "type": "string" });
        let mut stored = crd(
            json!({ "labels": { "a": "new" }, "annotations": { "b": "new" } }),
            json!({ "versions": [version("v1", false, false, json!({ "type": "object", "required": ["both"], "properties": {
                "both": { "type": "string", "enum": ["x", "z"] },
                "newer": text(),
                "list": { "type": "array", "items": { "type": "object", "properties": { "newer": text() } } },
                "map": { "type": "object", "additionalProperties": { "type": "object", "properties": { "newer": text() } } },
                "changed": { "type": "object", "additionalProperties": text() },
            } })), version("v2", true, true, json!({ "type": "object" }))] }),
        );
        let desired = crd(
            json!({ "labels": { "a": "old", "c": "old" } }),
            json!({ "versions": [version("v1", true, true, json!({ "type": "object", "required": ["older"], "properties": {
                "both": { "type": "string", "enum": ["x", "y"], "maxLength": 3 },
                "older": text(),
                "list": { "type": "array", "items": { "type": "object", "properties": { "older": text() } } },
                "map": { "type": "object", "additionalProperties": { "type": "object", "properties": { "older": text() } } },
                "changed": { "type": "object", "properties": { "older": text() } },
            } })), version("v1beta1", true, false, json!({ "type": "object" }))] }),
        );
        add(&mut stored, desired);
        let expected = crd(
            json!({ "labels": { "a": "new", "c": "old" }, "annotations": { "b": "new" } }),
            json!({ "versions": [version("v1", true, false, json!({ "type": "object", "required": ["both"], "properties": {
                "both": { "type": "string", "enum": ["x", "z", "y"] },
                "newer": text(),
                "older": text(),
                "list": { "type": "array", "items": { "type": "object", "properties": { "newer": text(), "older": text() } } },
                "map": { "type": "object", "additionalProperties": { "type": "object", "properties": { "newer": text(), "older": text() } } },
                "changed": { "type": "object", "additionalProperties": text() },
            } })), version("v2", true, true, json!({ "type": "object" })), version("v1beta1", true, false, json!({ "type": "object" }))] }),
        );
        assert_eq!(stored, expected);
    }
}
