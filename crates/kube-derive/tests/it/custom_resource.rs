//! `#[derive(CustomResource)]`: the object, its wire form, its definition.

use std::collections::BTreeMap;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube_core::{
    ClusterResourceScope, CustomResourceExt, NamespaceResourceScope, Resource,
    object::{HasSpec, HasStatus},
};
use kube_derive::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(group = "example.com", version = "v1", kind = "Document", namespaced)]
#[kube(
    status = "DocumentStatus",
    shortname = "doc",
    shortname = "d",
    category = "all",
    singular = "doc",
    plural = "docs"
)]
#[kube(
    derive = "PartialEq",
    derive = "Default",
    doc = "A document.",
    selectable = ".spec.title",
    storage = false
)]
#[kube(printcolumn(name = "Title", type_ = "string", json_path = ".spec.title", priority = -1))]
#[kube(
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp","description":"since"}"#
)]
#[kube(
    scale = r#"{"specReplicasPath":".spec.n","statusReplicasPath":".status.n","labelSelectorPath":".status.s"}"#
)]
#[kube(annotation("a", "1"), annotation("b", "2"), label("l", "3"), deprecated = "use v2", served = true)]
#[kube(crates(kube_core = "kube_core"))]
struct DocumentSpec {
    title: String,
    n: Option<i32>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
struct DocumentStatus {
    n: i32,
}

#[derive(CustomResource, Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[kube(group = "example.com", version = "v1beta1", kind = "Policy", root = "ClusterPolicy", crates(kube_core = kube_core))]
struct PolicySpec(u8);

#[test]
fn the_resource_trait_has_the_kind_and_scope_of_the_attributes() {
    fn scope<K: Resource<Scope = S>, S>() {}
    scope::<Document, NamespaceResourceScope>();
    scope::<ClusterPolicy, ClusterResourceScope>();
    assert_eq!(Document::api_version(&()), "example.com/v1");
    assert_eq!(Document::group(&()), "example.com");
    assert_eq!(Document::plural(&()), "docs");
    assert_eq!(ClusterPolicy::kind(&()), "Policy");
    assert_eq!(ClusterPolicy::plural(&()), "policies");
    assert_eq!(ClusterPolicy::url_path(&(), None), "/apis/example.com/v1beta1/policies");
    assert_eq!(Document::crd_name(), "docs.example.com");
    assert_eq!(Document::shortnames(), ["doc", "d"]);
    assert!(ClusterPolicy::shortnames().is_empty());
    let resource = ClusterPolicy::api_resource();
    assert_eq!((resource.kind.as_str(), resource.plural.as_str()), ("Policy", "policies"));
}

#[test]
fn the_wire_form_is_ordered_and_omits_an_absent_status() {
    let mut document = Document::new("a", DocumentSpec { title: "t".into(), n: None });
    assert_eq!(
        serde_json::to_string(&document).unwrap(),
        r#"{"apiVersion":"example.com/v1","kind":"Document","metadata":{"annotations":{"a":"1","b":"2"},"labels":{"l":"3"},"name":"a"},"spec":{"title":"t","n":null}}"#
    );
    *document.status_mut() = Some(DocumentStatus { n: 1 });
    let written = serde_json::to_string(&document).unwrap();
    assert!(written.ends_with(r#""status":{"n":1}}"#), "{written}");
    assert_eq!(serde_json::from_str::<Document>(&written).unwrap(), document);

    let policy = ClusterPolicy::new("p", PolicySpec(7));
    assert_eq!(
        serde_json::to_string(&policy).unwrap(),
        r#"{"apiVersion":"example.com/v1beta1","kind":"Policy","metadata":{"name":"p"},"spec":7}"#
    );
}

#[test]
fn traits_give_access_to_metadata_spec_and_status() {
    let mut document = Document::default();
    assert_eq!(document.metadata, ObjectMeta::default());
    document.spec_mut().title = "changed".into();
    document.meta_mut().name = Some("named".into());
    assert_eq!(document.spec().title, "changed");
    assert_eq!(document.meta().name.as_deref(), Some("named"));
    assert!(document.status().is_none());
}

#[test]
fn the_definition_has_the_values_of_the_attributes() {
    let crd = serde_json::to_value(Document::crd()).unwrap();
    assert_eq!(
        crd["metadata"],
        json!({ "name": "docs.example.com", "annotations": { "a": "1", "b": "2" }, "labels": { "l": "3" } })
    );
    let spec = &crd["spec"];
    assert_eq!(
        spec["names"],
        json!({ "kind": "Document", "plural": "docs", "singular": "doc", "shortNames": ["doc", "d"], "categories": ["all"] })
    );
    assert_eq!((&spec["scope"], &spec["group"]), (&json!("Namespaced"), &json!("example.com")));
    let mut version = spec["versions"][0].clone();
    version.as_object_mut().unwrap().remove("schema");
    assert_eq!(
        version,
        json!({
            "name": "v1",
            "served": true,
            "storage": false,
            "deprecated": true,
            "deprecationWarning": "use v2",
            "additionalPrinterColumns": [
                { "name": "Title", "type": "string", "jsonPath": ".spec.title", "priority": -1 },
                { "name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp", "description": "since" },
            ],
            "selectableFields": [{ "jsonPath": ".spec.title" }],
            "subresources": {
                "status": {},
                "scale": { "specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n", "labelSelectorPath": ".status.s" },
            },
        })
    );
}

#[test]
fn the_schema_describes_the_whole_object() {
    let crd = serde_json::to_value(Document::crd()).unwrap();
    assert_eq!(
        crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"],
        json!({
            "title": "Document",
            "description": "A document.",
            "type": "object",
            "required": ["spec"],
            "properties": {
                "spec": {
                    "type": "object",
                    "required": ["title"],
                    "properties": {
                        "title": { "type": "string" },
                        "n": { "type": "integer", "format": "int32", "nullable": true },
                    },
                },
                "status": {
                    "type": "object",
                    "nullable": true,
                    "required": ["n"],
                    "properties": { "n": { "type": "integer", "format": "int32" } },
                },
            },
        })
    );
    let policy = serde_json::to_value(ClusterPolicy::crd()).unwrap();
    let schema = &policy["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    assert_eq!(schema["title"], "ClusterPolicy");
    assert_eq!(schema["description"], "Auto-generated derived type for PolicySpec via `CustomResource`");
}

#[test]
fn empty_lists_and_nulls_are_omitted_in_the_definition() {
    fn no_empty_list(at: &str, value: &Value) {
        match value {
            Value::Array(list) => {
                assert!(!list.is_empty(), "{at} is an empty list");
                list.iter().for_each(|value| no_empty_list(at, value));
            }
            // Defaults are user values, which may be empty.
            Value::Object(object) => object
                .iter()
                .filter(|(key, _)| *key != "default")
                .for_each(|(key, value)| no_empty_list(&format!("{at}.{key}"), value)),
            Value::Null => panic!("{at} is null"),
            _ => {}
        }
    }
    no_empty_list("policy", &serde_json::to_value(ClusterPolicy::crd()).unwrap());
    for row in crate::table::rows() {
        no_empty_list(row.name, &serde_json::to_value(&row.crd).unwrap());
    }
    let crd = serde_json::to_value(ClusterPolicy::crd()).unwrap();
    assert_eq!(crd["spec"]["names"], json!({ "kind": "Policy", "plural": "policies", "singular": "policy" }));
    let version = crd["spec"]["versions"][0].as_object().unwrap();
    assert_eq!(version.keys().collect::<Vec<_>>(), ["name", "schema", "served", "storage"]);
}

/// A kind without spec and with a flattened map, which must not collect the fields of the object.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(group = "example.com", version = "v1", kind = "Loose", no_spec, status = DocumentStatus, derive = "PartialEq")]
#[kube(validation = "has(self.theData)", crates(kube_core = kube_core))]
#[serde(rename_all = "camelCase")]
struct LooseFields {
    the_data: Vec<u8>,
    #[serde(flatten)]
    rest: std::collections::BTreeMap<String, Value>,
}

#[test]
fn with_no_spec_the_fields_are_next_to_the_metadata() {
    let json = json!({
        "apiVersion": "example.com/v1",
        "kind": "Loose",
        "metadata": { "name": "l" },
        "theData": [1],
        "more": { "deep": true },
        "status": { "n": 1 },
    });
    let loose: Loose = serde_json::from_value(json.clone()).unwrap();
    assert_eq!(loose.spec.the_data, [1]);
    assert_eq!(loose.spec.rest.keys().collect::<Vec<_>>(), ["more"]);
    assert_eq!(loose.status, Some(DocumentStatus { n: 1 }));
    let text = serde_json::to_string(&loose).unwrap();
    assert!(text.starts_with(r#"{"apiVersion":"example.com/v1","kind":"Loose","metadata":"#), "{text}");
    assert_eq!(text.matches("apiVersion").count(), 1, "{text}");
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), json);

    let crd = serde_json::to_value(Loose::crd()).unwrap();
    let schema = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    assert_eq!(schema["title"], "Loose");
    assert_eq!(schema["required"], json!(["theData"]));
    assert_eq!(schema["x-kubernetes-preserve-unknown-fields"], true);
    assert_eq!(schema["x-kubernetes-validations"], json!([{ "rule": "has(self.theData)" }]));
    let properties: Vec<_> = schema["properties"].as_object().unwrap().keys().collect();
    assert_eq!(properties, ["status", "theData"]);
}

#[derive(CustomResource, Clone, Debug, Serialize, Deserialize)]
#[kube(group = "example.com", version = "v1", kind = "Manual", schema = "manual", crates(kube_core = kube_core))]
struct ManualSpec {
    a: u8,
}

impl JsonSchema for Manual {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Mine".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "object", "properties": { "spec": { "const": 1 } } })
    }
}

/// Neither the spec nor its fields have a schema.
#[derive(CustomResource, Clone, Debug, Serialize, Deserialize)]
#[kube(group = "example.com", version = "v1", kind = "Shapeless", schema = "disabled", crates(kube_core = kube_core))]
struct ShapelessSpec {}

#[test]
fn a_schema_can_be_manual_or_disabled() {
    let schema = |crd| serde_json::to_value(crd).unwrap()["spec"]["versions"][0].get("schema").cloned();
    assert_eq!(
        schema(Manual::crd()).unwrap()["openAPIV3Schema"],
        json!({ "title": "Mine", "type": "object", "properties": { "spec": { "type": "integer", "enum": [1] } } })
    );
    assert_eq!(schema(Shapeless::crd()), None);
    assert_eq!(Manual::new("x", ManualSpec { a: 1 }).spec.a, 1);
    let _ = Shapeless::new("x", ShapelessSpec {});
}

#[derive(CustomResource, Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[kube(group = "kube.test", version = "v1", kind = "Forest", crates(kube_core = kube_core))]
struct ForestSpec {
    trees: Vec<Tree>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
struct Tree {
    branches: Vec<Tree>,
}

#[test]
fn crd_panics_with_the_schema_error_for_a_recursive_spec() {
    let error = kube_core::schema::structural_schema::<Forest>().unwrap_err().to_string();
    assert!(error.contains("`Tree` contains itself at `.spec.trees[*].branches[*]`"), "{error}");
    let panic = std::panic::catch_unwind(Forest::crd).unwrap_err();
    assert_eq!(panic.downcast_ref::<String>(), Some(&error));
}

/// What a handwritten definition may say besides.
///
/// In two paragraphs.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[kube(group = "example.com", version = "v1", kind = "Legacy", status = "LegacyStatus")]
#[kube(status_subresource = false, optional_spec, required_metadata)]
#[kube(crates(kube_core = "kube_core"))]
#[x_kube(crates(kube_core = kube_core))]
#[serde(default)]
struct LegacySpec {
    #[x_kube(nullable = false)]
    mode: Option<Mode>,
    #[x_kube(nullable = false)]
    note: Option<String>,
    #[x_kube(format = "byte")]
    key: String,
    #[schemars(length(max = 8))]
    labels: BTreeMap<String, String>,
    #[validate(length(equal = LIMIT))]
    ports: Option<BTreeMap<u16, String>>,
}

const LIMIT: u32 = 2;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
enum Mode {
    Fast,
    Slow,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
struct LegacyStatus {
    phase: Option<Mode>,
}

#[test]
fn attributes_say_what_handwritten_definitions_say() {
    let crd = serde_json::to_value(Legacy::crd()).unwrap();
    let version = &crd["spec"]["versions"][0];
    assert_eq!(version.get("subresources"), None);
    let schema = &version["schema"]["openAPIV3Schema"];
    assert_eq!(schema["required"], json!(["metadata"]));
    assert_eq!(schema["description"], "What a handwritten definition may say besides.\n\nIn two paragraphs.");
    let fields = &schema["properties"]["spec"]["properties"];
    assert_eq!(fields["mode"], json!({ "type": "string", "enum": ["Fast", "Slow"] }));
    assert_eq!(fields["note"], json!({ "type": "string" }));
    assert_eq!(fields["key"]["format"], "byte");
    assert_eq!(fields["key"].get("pattern"), None);
    assert_eq!(fields["labels"]["maxProperties"], 8);
    assert_eq!(
        (&fields["ports"]["minProperties"], &fields["ports"]["maxProperties"]),
        (&json!(2), &json!(2))
    );
    let phase = &schema["properties"]["status"]["properties"]["phase"];
    assert_eq!((&phase["type"], &phase["anyOf"]), (&json!("string"), &json!([{ "enum": ["Fast", "Slow"] }])));
    assert_eq!(phase["description"], "One of `Fast`, `Slow`.");
}

#[test]
fn an_optional_spec_has_its_default() {
    let object = json!({ "apiVersion": "example.com/v1", "kind": "Legacy", "metadata": { "name": "a" } });
    let legacy: Legacy = serde_json::from_value(object).expect("a spec is not needed");
    assert_eq!((legacy.spec, legacy.status), (LegacySpec::default(), None));
}

/// Without `JsonSchema`: the function has the schema.
#[derive(CustomResource, Clone, Debug, Serialize, Deserialize)]
#[kube(
    group = "example.com",
    version = "v1",
    kind = "Foreign",
    shortname = "f",
    definition = "foreign_definition"
)]
#[kube(crates(kube_core = kube_core))]
struct ForeignSpec {
    size: u8,
}

fn foreign_definition() -> CustomResourceDefinition {
    serde_json::from_value(json!({
        "metadata": { "name": "foreigns.example.com" },
        "spec": {
            "group": "example.com", "scope": "Cluster", "names": { "kind": "Foreign", "plural": "foreigns" },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": {
                "type": "object", "properties": { "spec": { "type": "object", "properties": { "size": { "type": "integer", "maximum": 7 } } } },
            } } }],
        },
    }))
    .expect("valid")
}

#[test]
fn a_definition_that_exists_already_is_returned_as_it_is() {
    assert_eq!(Foreign::crd(), foreign_definition());
    assert_eq!((Foreign::crd_name(), Foreign::shortnames()), ("foreigns.example.com", &["f"][..]));
    assert_eq!(
        serde_json::to_value(Foreign::new("a", ForeignSpec { size: 1 })).unwrap()["spec"],
        json!({ "size": 1 })
    );
}
