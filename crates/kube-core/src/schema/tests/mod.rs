//! The structural schema of each construct. The table of types in kube-derive tests that a genuine server accepts them.
#![allow(dead_code)] // only the schemas of these types are used

use std::collections::BTreeMap;

use schemars::{JsonSchema, transform::Transform};
use serde::Serialize;
use serde_json::{Value, json};

mod alternatives;
mod numbers;

use super::{OptionalEnum, OptionalIntOrString, SchemaError, StructuralSchemaRewriter, structural_schema};

/// The schema as JSON, without the title, which is the name of the type.
fn of<T: JsonSchema>() -> Value {
    let mut schema = serde_json::to_value(structural_schema::<T>().unwrap()).unwrap();
    schema.as_object_mut().unwrap().remove("title");
    schema
}

fn rewritten(schema: Value) -> Value {
    let mut schema = schema.try_into().unwrap();
    StructuralSchemaRewriter.transform(&mut schema);
    OptionalEnum.transform(&mut schema);
    OptionalIntOrString.transform(&mut schema);
    schema.to_value()
}

#[derive(Serialize, JsonSchema)]
struct Inner {
    a: String,
    b: Option<bool>,
}

#[derive(Serialize, JsonSchema)]
enum Color {
    Red,
    Blue,
}

#[test]
fn unit_variants_become_an_enum() {
    assert_eq!(of::<Color>(), json!({ "type": "string", "enum": ["Red", "Blue"] }));
    assert_eq!(
        of::<Option<Color>>(),
        json!({
            "type": "string",
            "nullable": true,
            "anyOf": [{ "enum": ["Red", "Blue"] }],
            "description": "One of `Red`, `Blue`.",
        })
    );
}

#[test]
fn documented_unit_variants_become_one_enum() {
    #[derive(Serialize, JsonSchema)]
    enum Documented {
        /// One.
        One,
        /// Two.
        Two,
    }
    assert_eq!(
        of::<Documented>(),
        json!({ "type": "string", "enum": ["One", "Two"], "description": "- `One`: One.\n- `Two`: Two." })
    );
}

#[test]
fn external_tags_become_exclusive_properties() {
    #[derive(Serialize, JsonSchema)]
    enum External {
        Number(bool),
        Object { x: bool },
    }
    let schema = json!({
        "type": "object",
        "properties": {
            "Number": { "type": "boolean" },
            "Object": { "type": "object", "required": ["x"], "properties": { "x": { "type": "boolean" } } },
        },
        "oneOf": [{ "required": ["Number"] }, { "required": ["Object"] }],
    });
    assert_eq!(of::<External>(), schema);
    let mut optional = schema;
    optional["nullable"] = true.into();
    assert_eq!(of::<Option<External>>(), optional);
}

#[test]
fn unit_and_data_variants_become_an_open_node() {
    #[derive(Serialize, JsonSchema)]
    enum Mixed {
        Word,
        Object { x: bool },
    }
    assert_eq!(of::<Mixed>(), json!({ "x-kubernetes-preserve-unknown-fields": true }));
    assert_eq!(
        of::<Option<Mixed>>(),
        json!({ "x-kubernetes-preserve-unknown-fields": true, "nullable": true })
    );
}

#[test]
fn internal_tags_require_the_fields_of_their_variant() {
    #[derive(Serialize, JsonSchema)]
    #[serde(tag = "type")]
    enum Internal {
        A { x: bool },
        B { x: Option<bool>, y: String },
        C,
    }
    assert_eq!(
        of::<Internal>(),
        json!({
            "type": "object",
            "required": ["type"],
            "properties": {
                "type": { "type": "string", "enum": ["A", "B", "C"] },
                "x": { "type": "boolean", "nullable": true },
                "y": { "type": "string" },
            },
            "oneOf": [
                { "required": ["x"], "properties": { "type": { "enum": ["A"] } } },
                { "required": ["y"], "properties": { "type": { "enum": ["B"] } } },
                { "properties": { "type": { "enum": ["C"] } } },
            ],
        })
    );
}

#[test]
fn adjacent_contents_of_different_types_become_an_open_node() {
    #[derive(Serialize, JsonSchema)]
    #[serde(tag = "t", content = "c")]
    enum Adjacent {
        A(bool),
        B(String),
        C,
    }
    assert_eq!(
        of::<Adjacent>(),
        json!({
            "type": "object",
            "required": ["t"],
            "properties": {
                "t": { "type": "string", "enum": ["A", "B", "C"] },
                "c": { "x-kubernetes-preserve-unknown-fields": true },
            },
            "oneOf": [
                { "required": ["c"], "properties": { "t": { "enum": ["A"] } } },
                { "required": ["c"], "properties": { "t": { "enum": ["B"] } } },
                { "properties": { "t": { "enum": ["C"] } } },
            ],
        })
    );
}

#[test]
fn untagged_variants_become_any_of() {
    #[derive(Serialize, JsonSchema)]
    #[serde(untagged)]
    enum Scalar {
        Int(i64),
        Text(String),
    }
    #[derive(Serialize, JsonSchema)]
    #[serde(untagged)]
    enum Objects {
        A { a: String },
        B { b: String },
    }
    #[derive(Serialize, JsonSchema)]
    #[serde(untagged)]
    enum Overlap {
        A { a: String },
        Any {},
    }
    assert_eq!(of::<Scalar>(), json!({ "x-kubernetes-int-or-string": true }));
    let text = json!({ "type": "string" });
    assert_eq!(
        of::<Objects>(),
        json!({
            "type": "object",
            "properties": { "a": text, "b": text },
            "anyOf": [{ "required": ["a"] }, { "required": ["b"] }],
        })
    );
    assert_eq!(
        of::<Overlap>(),
        json!({ "type": "object", "properties": { "a": text } }),
        "a variant without required fields"
    );
}

#[test]
fn flattened_structs_enums_and_maps_are_merged() {
    #[derive(Serialize, JsonSchema)]
    enum Source {
        File { path: String },
        Nowhere,
    }
    #[derive(Serialize, JsonSchema)]
    struct Flat {
        own: bool,
        #[serde(flatten)]
        inner: Inner,
        #[serde(flatten)]
        source: Option<Source>,
        #[serde(flatten)]
        rest: BTreeMap<String, Value>,
    }
    assert_eq!(
        of::<Flat>(),
        json!({
            "type": "object",
            "required": ["a", "own"],
            "properties": {
                "own": { "type": "boolean" },
                "a": { "type": "string" },
                "b": { "type": "boolean", "nullable": true },
                "File": { "type": "object", "required": ["path"], "properties": { "path": { "type": "string" } } },
                "Nowhere": { "type": "object", "nullable": true, "maxProperties": 0 },
            },
            "x-kubernetes-preserve-unknown-fields": true,
        })
    );
}

#[test]
fn maps_become_additional_properties() {
    assert_eq!(
        of::<BTreeMap<String, Option<bool>>>(),
        json!({ "type": "object", "additionalProperties": { "type": "boolean", "nullable": true } })
    );
    assert_eq!(
        of::<BTreeMap<u32, bool>>(),
        json!({ "type": "object", "additionalProperties": { "type": "boolean" } })
    );
    assert_eq!(
        of::<BTreeMap<String, Value>>(),
        json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true })
    );
    assert_eq!(of::<Value>(), json!({ "x-kubernetes-preserve-unknown-fields": true, "nullable": true }));
}

#[test]
fn tuples_and_sets_become_arrays() {
    assert_eq!(
        of::<(bool, bool)>(),
        json!({ "type": "array", "items": { "type": "boolean" }, "minItems": 2, "maxItems": 2 })
    );
    assert_eq!(
        of::<(bool, String, Inner)>()["items"],
        json!({ "x-kubernetes-preserve-unknown-fields": true })
    );
    assert_eq!(
        of::<std::collections::BTreeSet<String>>(),
        json!({ "type": "array", "items": { "type": "string" } })
    );
    assert_eq!(
        of::<(u8, u16)>()["items"],
        json!({
            "type": "integer",
            "format": "int32",
            "minimum": 0.0,
            "anyOf": [{ "maximum": 255.0 }, { "maximum": 65535.0 }],
        })
    );
}

#[test]
fn numbers_have_bounds_and_known_formats() {
    let integer = |format: &str, bounds: Value| {
        let mut schema = json!({ "type": "integer", "format": format });
        schema.as_object_mut().unwrap().extend(bounds.as_object().unwrap().clone());
        schema
    };
    assert_eq!(of::<u8>(), integer("int32", json!({ "minimum": 0.0, "maximum": 255.0 })));
    assert_eq!(of::<i16>(), integer("int32", json!({ "minimum": -32768.0, "maximum": 32767.0 })));
    assert_eq!(of::<i32>(), integer("int32", json!({})));
    assert_eq!(of::<u32>(), integer("int64", json!({ "minimum": 0.0, "maximum": 4294967295.0 })));
    assert_eq!(of::<i64>(), integer("int64", json!({})));
    assert_eq!(of::<u64>(), integer("int64", json!({ "minimum": 0.0 })));
    assert_eq!(of::<i128>(), json!({ "type": "integer" }));
    assert_eq!(of::<f32>(), json!({ "type": "number", "format": "float" }));
}

#[test]
fn recursion_is_an_error_with_type_and_path() {
    #[derive(Serialize, JsonSchema)]
    struct Tree {
        value: bool,
        other: Other,
    }
    #[derive(Serialize, JsonSchema)]
    struct Other {
        trees: std::collections::BTreeMap<String, Option<Box<Tree>>>,
    }
    #[derive(Serialize, JsonSchema)]
    struct Outer {
        forest: Vec<Tree>,
    }
    let rejected = |result: Result<_, SchemaError>| match result {
        Err(SchemaError::Recursive { root, type_name, path }) => (root, type_name, path),
        other => panic!("{other:?}"),
    };
    let expected = |root: &str, path: &str| (root.into(), "Tree".into(), path.into());
    assert_eq!(rejected(structural_schema::<Outer>()), expected("Outer", ".forest[*].other.trees[*]"));
    assert_eq!(rejected(structural_schema::<Tree>()), expected("Tree", ".other.trees[*]"));
    assert_eq!(
        structural_schema::<Outer>().unwrap_err().to_string(),
        "the schema of `Outer` is infinite: `Tree` contains itself at `.forest[*].other.trees[*]`; end the recursion there \
         with #[schemars(with = \"serde_json::Value\")] for any value, or #[schemars(schema_with = \"..\")] for an open node \
         of one type"
    );
}

#[test]
fn references_are_inlined_unless_recursive() {
    let schema = rewritten(json!({
        "type": "object",
        "properties": {
            "a": { "$ref": "#/$defs/A", "description": "outer" },
            "loop": { "$ref": "#/$defs/Loop" },
            "nowhere": { "$ref": "#/$defs/Nowhere" },
        },
        "$defs": {
            "A": { "description": "inner", "properties": { "b": { "$ref": "#/$defs/B" } } },
            "B": { "type": "boolean" },
            "Loop": { "type": "object", "properties": { "again": { "$ref": "#/$defs/Loop" } } },
        },
    }));
    assert_eq!(
        schema,
        json!({
            "type": "object",
            "properties": {
                "a": { "type": "object", "description": "outer", "properties": { "b": { "type": "boolean" } } },
                "loop": { "type": "object", "x-kubernetes-preserve-unknown-fields": true },
                "nowhere": { "x-kubernetes-preserve-unknown-fields": true, "nullable": true },
            },
        })
    );
}

#[test]
fn equivalent_spellings_of_drafts_give_one_schema() {
    let written = [
        json!({ "type": ["string", "null"], "enum": ["a", null] }),
        json!({ "type": "string", "nullable": true, "enum": ["a"] }),
        json!({ "anyOf": [{ "type": "string", "const": "a" }, { "type": "null" }] }),
        json!({ "oneOf": [{ "const": null, "nullable": true }, { "enum": ["a"] }] }),
        json!({ "allOf": [{ "enum": ["a"] }], "type": "string", "nullable": true }),
    ];
    for schema in written {
        assert_eq!(
            rewritten(schema.clone()),
            json!({ "type": "string", "nullable": true, "anyOf": [{ "enum": ["a"] }], "description": "One of `a`." }),
            "{schema}"
        );
    }
    let written = [
        json!({ "prefixItems": [{ "type": "string" }], "items": false }),
        json!({ "items": [{ "type": "string" }], "additionalItems": false }),
        json!({ "type": "array", "items": { "type": "string" } }),
    ];
    for schema in written {
        assert_eq!(
            rewritten(schema.clone()),
            json!({ "type": "array", "items": { "type": "string" } }),
            "{schema}"
        );
    }
}

#[test]
fn unknown_keywords_are_removed() {
    let schema = rewritten(json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$comment": "c",
        "type": "object",
        "additionalProperties": false,
        "required": [],
        "properties": {
            "a": { "type": "string", "default": null, "format": "zoned-date-time", "readOnly": true, "contentEncoding": "x" },
            "b": { "type": "integer", "exclusiveMinimum": 3, "if": true, "deprecated": true },
            "c": { "type": "array", "uniqueItems": true },
            "d": true,
        },
        "x-kubernetes-embedded-resource": true,
        "x-other": 1,
    }));
    assert_eq!(
        schema,
        json!({
            "type": "object",
            "properties": {
                "a": { "type": "string" },
                "b": { "type": "integer", "minimum": 3, "exclusiveMinimum": true },
                "c": { "type": "array", "items": { "x-kubernetes-preserve-unknown-fields": true, "nullable": true } },
                "d": { "x-kubernetes-preserve-unknown-fields": true, "nullable": true },
            },
            "x-kubernetes-embedded-resource": true,
        })
    );
}

#[test]
fn only_a_not_with_value_validations_stays() {
    let schema = |not: Value| json!({ "type": "string", "not": not });
    assert_eq!(rewritten(schema(json!({ "enum": ["a"] }))), schema(json!({ "enum": ["a"] })));
    assert_eq!(rewritten(schema(json!({ "type": "number", "enum": ["a"] }))), json!({ "type": "string" }));
}

/// What findings/testserver/18-derive-oneof-not.rs found.
#[test]
fn handwritten_conditions_are_kept_as_written() {
    let struct_with = |conditions: Value| {
        let mut schema = json!({ "type": "object", "properties": { "a": { "type": "string" }, "b": { "type": "string" } } });
        schema.as_object_mut().unwrap().extend(conditions.as_object().unwrap().clone());
        schema
    };
    for conditions in [
        json!({ "oneOf": [{ "not": { "required": ["a"] } }, { "required": ["a"] }] }),
        json!({ "not": { "anyOf": [{ "required": ["a"] }, { "required": ["b"] }] } }),
        json!({ "not": { "properties": { "a": { "enum": ["x"] } }, "required": ["a"] } }),
        json!({ "oneOf": [{ "required": ["a"] }, { "required": ["b"] }, { "maxProperties": 0 }] }),
        json!({ "oneOf": [{}, { "required": ["a", "b"] }] }),
        json!({ "anyOf": [{ "required": ["a"] }, { "properties": { "b": { "minLength": 3 } } }] }),
        json!({ "oneOf": [{ "required": ["a"] }, { "required": ["b"] }], "not": { "required": ["a", "b"] } }),
    ] {
        assert_eq!(rewritten(struct_with(conditions.clone())), struct_with(conditions));
    }
}

#[test]
fn a_not_that_servers_refuse_is_an_error() {
    #[derive(JsonSchema)]
    #[schemars(extend("not" = { "properties": { "a": { "type": "integer" } } }))]
    #[allow(dead_code)]
    struct Excluding {
        a: String,
    }
    let error = structural_schema::<Excluding>().unwrap_err().to_string();
    assert!(
        error.contains(r#"`Excluding` excludes what a structural schema cannot: `"not": {"properties":{"a""#),
        "{error}"
    );
}

#[test]
fn required_fields_are_sorted_everywhere() {
    #[derive(JsonSchema)]
    #[allow(dead_code)]
    struct Outer {
        z: u8,
        a: Vec<Pair>,
    }
    #[derive(JsonSchema)]
    #[allow(dead_code)]
    struct Pair {
        value: u8,
        key: u8,
    }
    let schema = of::<Outer>();
    assert_eq!(schema["required"], json!(["a", "z"]));
    assert_eq!(schema["properties"]["a"]["items"]["required"], json!(["key", "value"]));
}

#[test]
fn one_of_becomes_any_of_if_branches_overlap() {
    let schema = rewritten(json!({
        "oneOf": [
            { "type": "object", "required": ["a"], "properties": { "a": { "type": "string" }, "b": { "type": "string" } } },
            { "type": "object", "required": ["b"], "properties": { "b": { "type": "string" } }, "maxProperties": 1 },
        ],
    }));
    assert_eq!(schema.get("oneOf"), None);
    assert_eq!(schema["anyOf"], json!([{ "required": ["a"] }, { "required": ["b"], "maxProperties": 1 }]));
}

#[test]
fn several_one_of_conditions_are_all_kept() {
    let schema = rewritten(json!({
        "type": "object",
        "allOf": [
            { "oneOf": [{ "required": ["a"], "properties": { "a": { "type": "string" } } }, { "required": ["b"], "properties": { "b": { "type": "string" } } }] },
            { "oneOf": [{ "required": ["c"], "properties": { "c": { "type": "string" } } }, { "required": ["d"], "properties": { "d": { "type": "string" } } }] },
            { "properties": { "a": { "minLength": 1 } } },
        ],
    }));
    assert_eq!(schema["oneOf"], json!([{ "required": ["a"] }, { "required": ["b"] }]));
    assert_eq!(schema["allOf"], json!([{ "oneOf": [{ "required": ["c"] }, { "required": ["d"] }] }]));
    assert_eq!(schema["properties"]["a"], json!({ "type": "string", "minLength": 1 }));
}

#[test]
fn rewriting_is_idempotent() {
    #[derive(Serialize, JsonSchema)]
    #[serde(tag = "type")]
    enum Internal {
        A { color: Option<Color>, map: BTreeMap<String, Inner> },
        B { color: Option<Color>, tuple: (u8, u16) },
    }
    for schema in [of::<Internal>(), of::<Option<Internal>>(), of::<Vec<(Inner, Option<Color>)>>()] {
        assert_eq!(rewritten(schema.clone()), schema);
    }
}

#[test]
fn a_keyword_of_the_wrong_type_is_an_error() {
    #[derive(Serialize, JsonSchema)]
    #[schemars(extend("maxProperties" = "three"))]
    struct Wrong {}
    let error = structural_schema::<Wrong>().unwrap_err();
    assert_eq!(error.to_string(), "the schema of `Wrong` has a keyword of the wrong type");
    let source = std::error::Error::source(&error).expect("a source").to_string();
    assert!(source.contains("three"), "{source}");
}
