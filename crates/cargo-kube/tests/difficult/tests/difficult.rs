//! The types of the definitions in `crds/`: samples are written back as they were read, and the definitions are those of the input.

use std::collections::BTreeSet;

use difficult::{Kind, by_group, by_kind};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube_tools::yaml::Objects;
use serde_json::{Value, json};

fn inputs() -> Vec<Value> {
    let objects = Objects::read("crds").expect("valid");
    objects.iter().map(|object| serde_json::to_value(object).expect("valid")).collect()
}

fn definitions() -> Vec<CustomResourceDefinition> {
    let crds = inputs().into_iter().filter(|object| object["kind"] == "CustomResourceDefinition");
    crds.map(|crd| serde_json::from_value(crd).expect("valid")).collect()
}

fn kinds(crd: &CustomResourceDefinition) -> impl Iterator<Item = &'static Kind> {
    let name = crd.metadata.name.clone().expect("valid");
    by_kind::KINDS.iter().chain(by_group::KINDS).filter(move |kind| kind.crd == name)
}

#[test]
fn there_are_sixty_and_each_has_a_sample() {
    let inputs = inputs();
    let definitions = definitions();
    assert!(definitions.len() >= 60, "{}", definitions.len());
    for crd in &definitions {
        assert!(inputs.iter().any(|object| object["kind"] == crd.spec.names.kind), "{:?}", crd.metadata.name);
    }
}

/// The paths of all fields and items of a schema, or those that a value sets.
fn paths(schema: &Value, value: Option<&Value>, at: &str, found: &mut BTreeSet<String>) {
    let mut below = |schema: &Value, value: Option<&Value>, at: String| {
        paths(schema, value, &at, found);
        found.insert(at);
    };
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let value = value.map(|value| &value[name]);
        if value.is_none_or(|value| !value.is_null()) {
            below(field, value, format!("{at}.{name}"));
        }
    }
    for inner in
        ["items", "additionalProperties"].map(|inner| &schema[inner]).into_iter().filter(|it| it.is_object())
    {
        match value {
            None => below(inner, None, format!("{at}[*]")),
            Some(Value::Array(items)) => {
                items.iter().for_each(|item| below(inner, Some(item), format!("{at}[*]")))
            }
            Some(Value::Object(fields)) => {
                fields.values().for_each(|field| below(inner, Some(field), format!("{at}[*]")))
            }
            Some(_) => {}
        }
    }
}

/// Some fields exclude each other, so several samples may be needed.
#[test]
fn the_samples_of_a_version_set_every_field() {
    let inputs = inputs();
    for crd in definitions() {
        for version in crd.spec.versions.iter().filter(|version| version.served) {
            let schema = version.schema.as_ref().and_then(|schema| schema.open_api_v3_schema.as_ref());
            let mut schema = serde_json::to_value(schema).unwrap();
            // Those of every object are not of the schema.
            for name in ["apiVersion", "kind", "metadata"] {
                schema["properties"].as_object_mut().map(|properties| properties.remove(name));
            }
            let (mut all, mut set) = (BTreeSet::new(), BTreeSet::new());
            paths(&schema, None, "", &mut all);
            let api_version = format!("{}/{}", crd.spec.group, version.name);
            let is_of = |object: &&Value| {
                object["kind"] == crd.spec.names.kind && object["apiVersion"] == *api_version
            };
            inputs.iter().filter(is_of).for_each(|sample| paths(&schema, Some(sample), "", &mut set));
            let missing: Vec<_> = all.difference(&set).collect();
            assert!(missing.is_empty(), "{} {}: {missing:?}", crd.spec.names.kind, version.name);
        }
    }
}

#[test]
fn the_printed_definition_is_the_input() {
    for input in definitions() {
        let mut versions = 0;
        for kind in kinds(&input) {
            assert_eq!((kind.all_versions)(), input, "{}", kind.crd);
            let one = (kind.one_version)();
            let expected: Vec<_> =
                input.spec.versions.iter().filter(|version| version.name == kind.version).cloned().collect();
            assert_eq!(one.spec.versions, expected, "{}", kind.crd);
            assert_eq!(one.metadata, input.metadata);
            versions += 1;
        }
        assert_eq!(versions, 2 * input.spec.versions.len(), "{:?}", input.metadata.name);
    }
}

#[test]
fn versions_merged_are_the_input() {
    for input in definitions() {
        let name = input.metadata.name.clone().unwrap();
        let stored = input.spec.versions.iter().find(|version| version.storage).unwrap().name.clone();
        let one = by_kind::KINDS.iter().filter(|kind| kind.crd == name).map(|kind| (kind.one_version)());
        assert_eq!(kube::core::crd::merge_crds(one.collect(), &stored).unwrap(), input, "{name}");
    }
}

#[test]
fn samples_are_written_back_as_they_were_read() {
    let definitions = definitions();
    let mut samples = 0;
    for sample in inputs().into_iter().filter(|object| object["kind"] != "CustomResourceDefinition") {
        let crd = definitions.iter().find(|crd| sample["kind"] == crd.spec.names.kind).unwrap();
        let version = sample["apiVersion"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
        for kind in kinds(crd).filter(|kind| kind.version == version) {
            let written = (kind.round_trip)(sample.clone());
            assert_eq!(
                written.unwrap_or_else(|err| panic!("{}: {err}\n{sample}", kind.crd)),
                sample,
                "{}",
                kind.crd
            );
            samples += 1;
        }
    }
    assert!(samples >= 2 * 75, "{samples}");
}

#[test]
fn a_value_that_the_schema_does_not_list_is_kept() {
    use by_kind::difficult_example_com::{enum_integer::v1::EnumIntegerSpecLevel, enum_text::v1::EnumText};
    let object = json!({ "apiVersion": "difficult.example.com/v1", "kind": "EnumText", "metadata": { "name": "a" }, "spec": { "mode": "Sometimes" } });
    let read: EnumText = serde_json::from_value(object.clone()).unwrap();
    assert_eq!(read.spec.mode.as_ref().map(|mode| mode.as_str()), Some("Sometimes"));
    assert_eq!(serde_json::to_value(&read).unwrap(), object);
    let number: EnumIntegerSpecLevel = serde_json::from_value(json!(42)).unwrap();
    assert_eq!(
        (&number, serde_json::to_value(&number).unwrap()),
        (&EnumIntegerSpecLevel::Unknown(42), json!(42))
    );
}

#[test]
fn shapes_of_k8s_openapi_become_its_types() {
    use by_kind::difficult_example_com::shapes_meta::v1::ShapesMetaSpec;
    use k8s_openapi::api::core::v1::ObjectReference;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, LabelSelector, Time};
    let ShapesMetaSpec { at, conditions, ref_, selector } = ShapesMetaSpec::default();
    let _: (Option<Time>, Option<Vec<Condition>>, Option<ObjectReference>, Option<LabelSelector>) =
        (at, conditions, ref_, selector);
}

#[test]
fn one_structure_is_one_type_for_all_kinds_and_versions() {
    use by_kind::{
        difficult_example_com::versions, other_example_com::shared_two, shared_example_com::shared_one,
    };
    // The compiler says whether these are the same types.
    let backend = shared_one::v1::SharedOneSpec::default().backend;
    let _ = shared_two::v1::SharedTwoSpec { backends: Some(backend.into_iter().collect()) };
    let old = versions::v1beta1::VersionsSpec::default();
    let _ = versions::v1::VersionsSpec { a: old.a, mode: old.mode, newer: None };
}
