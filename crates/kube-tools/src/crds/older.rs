//! An older definition over a newer one: what is stored stays, and the older one only adds to it. Pure.

use std::collections::BTreeMap;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, CustomResourceDefinitionVersion as Version, JSONSchemaProps,
    JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};
use kube_core::Version as Age;

/// Whether the newest version of `wanted` is older than the newest one of `stored`: `wanted` is of an older release of its program.
pub(super) fn is_older(wanted: &CustomResourceDefinition, stored: &CustomResourceDefinition) -> bool {
    let newest = |crd: &CustomResourceDefinition| {
        crd.spec.versions.iter().map(|version| Age::parse(&version.name).generation()).max()
    };
    newest(wanted) < newest(stored)
}

/// Adds to `stored` what `wanted` has more: versions, which do not become the storage version, and fields of versions that both have.
///
/// Nothing of `stored` is removed or changed, because values that only the newer release knows are lost at the next write without their
/// fields, their conversion or their storage version.
pub(super) fn add(stored: &mut CustomResourceDefinition, wanted: CustomResourceDefinition) {
    add_entries(&mut stored.metadata.labels, wanted.metadata.labels);
    add_entries(&mut stored.metadata.annotations, wanted.metadata.annotations);
    for version in wanted.spec.versions {
        match stored.spec.versions.iter_mut().find(|it| it.name == version.name) {
            None => stored.spec.versions.push(Version { storage: false, ..version }),
            Some(present) => {
                // The older release needs it, whether or not the newer one does.
                present.served |= version.served;
                let schemas = present.schema.as_mut().zip(version.schema);
                if let Some((present, older)) = schemas {
                    add_schema(
                        present.open_api_v3_schema.get_or_insert_default(),
                        older.open_api_v3_schema.unwrap_or_default(),
                    );
                }
            }
        }
    }
}

fn add_entries(stored: &mut Option<BTreeMap<String, String>>, wanted: Option<BTreeMap<String, String>>) {
    for (key, value) in wanted.into_iter().flatten() {
        stored.get_or_insert_default().entry(key).or_insert(value);
    }
}

/// Adds properties, and values of an enumeration. Only what both have is compared: keywords of two schemas cannot be mixed freely.
fn add_schema(stored: &mut JSONSchemaProps, wanted: JSONSchemaProps) {
    if let (Some(stored), Some(wanted)) = (&mut stored.properties, wanted.properties) {
        for (name, wanted) in wanted {
            match stored.get_mut(&name) {
                Some(stored) => add_schema(stored, wanted),
                None => drop(stored.insert(name, wanted)),
            }
        }
    }
    if let (Some(JSONSchemaPropsOrArray::Schema(stored)), Some(JSONSchemaPropsOrArray::Schema(wanted))) =
        (&mut stored.items, wanted.items)
    {
        add_schema(stored, *wanted);
    }
    if let (Some(JSONSchemaPropsOrBool::Schema(stored)), Some(JSONSchemaPropsOrBool::Schema(wanted))) =
        (&mut stored.additional_properties, wanted.additional_properties)
    {
        add_schema(stored, *wanted);
    }
    if let (Some(stored), Some(wanted)) = (&mut stored.enum_, wanted.enum_) {
        let new: Vec<_> = wanted.into_iter().filter(|value| !stored.contains(value)).collect();
        stored.extend(new);
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

    fn versions(names: &[&str]) -> CustomResourceDefinition {
        let versions: Vec<_> =
            names.iter().map(|name| json!({ "name": name, "served": true, "storage": false })).collect();
        crd(json!({}), json!({ "versions": versions }))
    }

    #[test]
    fn the_newest_versions_are_compared_by_age() {
        for (wanted, stored, expected) in [
            (&["v1"][..], &["v1", "v2"][..], true),
            (&["v1"], &["v2alpha1"], true),
            (&["v1beta1"], &["v1"], true),
            (&["v1", "v2"], &["v1", "v1alpha1"], false),
            (&["v1"], &["v1"], false),
            (&["v2"], &["v1"], false),
        ] {
            assert_eq!(is_older(&versions(wanted), &versions(stored)), expected, "{wanted:?} {stored:?}");
        }
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
        let wanted = crd(
            json!({ "labels": { "a": "old", "c": "old" } }),
            json!({ "versions": [version("v1", true, true, json!({ "type": "object", "required": ["older"], "properties": {
                "both": { "type": "string", "enum": ["x", "y"], "maxLength": 3 },
                "older": text(),
                "list": { "type": "array", "items": { "type": "object", "properties": { "older": text() } } },
                "map": { "type": "object", "additionalProperties": { "type": "object", "properties": { "older": text() } } },
                "changed": { "type": "object", "properties": { "older": text() } },
            } })), version("v1beta1", true, false, json!({ "type": "object" }))] }),
        );
        add(&mut stored, wanted);
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
