//! Random schemas, also with texts that try to be code: the generated code parses and has only items of the generator, no name is given
//! twice, and the definition comes out as it went in.

use std::collections::HashSet;

use cargo_kube::types::{Definitions, Generator, Split};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use proptest::prelude::*;
use quote::quote;
use serde_json::{Map, Value, json};

/// Texts that end a comment, a literal or a macro, and letters of all kinds.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-c]{1,2}",
        "[a-z][A-Za-z0-9_-]{0,8}",
        ".{0,12}",
        "([ -~]|\\PC|[\\n\\r\\t\u{202e}\u{2028}\u{0}]){0,24}",
        prop::sample::select(vec![
            "*/",
            "\"#",
            "\"##",
            "${}",
            "{}",
            "//",
            "\\",
            "'",
            "\"",
            "\n",
            "r#type",
            "type",
            "Self",
            "self",
            "crate",
            "_",
            "__",
            "",
            "Unknown",
            "Option",
            "String",
            "fooBar",
            "foo_bar",
            "foo-bar",
            "FooBar",
            "1",
            "-1",
            "é",
            "日本",
            "other",
            "Vec",
            "Time",
            "```rust\nfn f() { loop {} }\n```",
            "    let x = 1;",
            "#![feature(x)]",
            "*/ fn evil() {} /*",
            "\"); evil!(); (\"",
        ])
        .prop_map(str::to_owned),
    ]
}

fn leaf() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!({ "type": "boolean" })),
        Just(json!({ "type": "integer", "format": "int32" })),
        Just(json!({ "type": "number" })),
        Just(json!({ "type": "string", "format": "date-time" })),
        Just(json!({ "x-kubernetes-int-or-string": true })),
        Just(json!({ "x-kubernetes-preserve-unknown-fields": true })),
        Just(json!({ "type": "object" })),
        prop::collection::vec(text(), 0..6).prop_map(|values| json!({ "type": "string", "enum": values })),
        prop::collection::vec(any::<i64>(), 1..6).prop_map(|values| json!({ "type": "integer", "enum": values })),
        (text(), text()).prop_map(|(pattern, default)| json!({ "type": "string", "pattern": pattern, "default": default })),
        text().prop_map(|rule| json!({ "type": "string", "x-kubernetes-validations": [{ "rule": rule, "message": rule }] })),
    ]
}

fn schema() -> impl Strategy<Value = Value> {
    leaf().prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            inner.clone().prop_map(|items| json!({ "type": "array", "items": items })),
            inner.clone().prop_map(|values| json!({ "type": "object", "additionalProperties": values })),
            object(inner),
        ]
    })
}

fn object(inner: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    let field = (text(), inner, any::<bool>(), any::<bool>(), prop::option::of(text()));
    (prop::collection::vec(field, 0..6), any::<bool>(), prop::option::of(text())).prop_map(
        |(fields, open, doc)| {
            let mut properties = Map::new();
            let mut required = Vec::new();
            for (name, mut schema, needed, nullable, doc) in fields {
                if nullable {
                    schema["nullable"] = json!(true);
                }
                if let Some(doc) = doc {
                    schema["description"] = json!(doc);
                }
                if needed {
                    required.push(name.clone());
                }
                properties.insert(name, schema);
            }
            let mut schema = json!({ "type": "object", "properties": properties });
            if open {
                schema["x-kubernetes-preserve-unknown-fields"] = json!(true);
            }
            if !required.is_empty() {
                schema["required"] = json!(required);
            }
            if let Some(doc) = doc {
                schema["description"] = json!(doc);
            }
            schema
        },
    )
}

/// A value of any JSON type in the place of a keyword.
fn any_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        schema(),
        text().prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        Just(json!("object")),
        Just(json!(["a", 1, null, {}])),
        prop::collection::btree_map(text(), schema(), 0..3).prop_map(|map| json!(map)),
    ]
}

/// Two versions of a kind; the kind and the versions have any names too.
fn definition() -> impl Strategy<Value = CustomResourceDefinition> {
    let names = (0..1000u32, text().prop_filter("a name", |name| !name.is_empty()));
    (names, object(schema()), object(schema()), any::<bool>()).prop_map(|((number, kind), a, b, spec)| {
        let root = |schema: &Value| match spec {
            true => json!({ "type": "object", "properties": { "spec": schema, "status": schema } }),
            false => schema.clone(),
        };
        let version = |name: &str, schema: &Value| {
            json!({ "name": name, "served": true, "storage": name == "v1", "schema": { "openAPIV3Schema": root(schema) } })
        };
        let other = format!("v2{kind}");
        let crd = json!({
            "metadata": { "name": format!("kinds{number}.example.com"), "annotations": { version_text(&a): "*/" } },
            "spec": { "group": "example.com", "scope": "Namespaced", "names": { "kind": kind, "plural": format!("kinds{number}") },
                "versions": [version("v1", &a), version(&other, &b)] },
        });
        serde_json::from_value(crd).expect("a definition")
    })
}

fn version_text(schema: &Value) -> String {
    schema.to_string().chars().take(10).collect()
}

/// The names of the items of generated modules, each once, and of nothing else.
fn check_items(items: &[syn::Item]) -> Result<(), TestCaseError> {
    let mut names = HashSet::new();
    for item in items {
        let name = match item {
            syn::Item::Struct(item) => {
                let fields: Vec<_> = item.fields.iter().filter_map(|field| field.ident.clone()).collect();
                prop_assert_eq!(fields.iter().collect::<HashSet<_>>().len(), fields.len());
                item.ident.to_string()
            }
            syn::Item::Enum(item) => {
                let variants: HashSet<_> = item.variants.iter().map(|variant| &variant.ident).collect();
                prop_assert_eq!(variants.len(), item.variants.len());
                item.ident.to_string()
            }
            syn::Item::Mod(module) => {
                if let Some((_, items)) = &module.content {
                    check_items(items)?;
                }
                module.ident.to_string()
            }
            syn::Item::Fn(function) => {
                let name = function.sig.ident.to_string();
                prop_assert!(matches!(name.as_str(), "crd" | "definition" | "present"), "{}", name);
                name
            }
            syn::Item::Use(_) | syn::Item::Impl(_) => continue,
            other => return Err(TestCaseError::fail(format!("unexpected: {}", quote!(#other)))),
        };
        prop_assert!(names.insert(name.clone()), "{} twice", name);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn code_parses_names_are_unique_and_the_definition_is_the_input(a in definition(), b in definition(), group in any::<bool>()) {
        prop_assume!(a.metadata.name != b.metadata.name);
        let definitions = Definitions::from_crds([a.clone(), b.clone()]).unwrap();
        let generator = Generator::new().split(if group { Split::Group } else { Split::Kind });
        let files = generator.generate(&definitions).unwrap();
        let mut printed = Vec::new();
        for (path, text) in files.iter() {
            if path.extension().is_some_and(|extension| extension == "json") {
                printed.push(serde_json::from_str::<CustomResourceDefinition>(text).unwrap());
            } else {
                check_items(&syn::parse_file(text).unwrap().items)?;
            }
        }
        printed.sort_by(|a, b| a.metadata.name.cmp(&b.metadata.name));
        prop_assert_eq!(printed, definitions.iter().cloned().collect::<Vec<_>>());

        let again = generator.generate(&Definitions::from_crds([b, a]).unwrap()).unwrap();
        prop_assert!(again.iter().eq(files.iter()), "the order of the input changes the output");
    }

    #[test]
    fn any_text_is_an_answer_or_an_error(text in "\\PC{0,200}") {
        if let Ok(definitions) = Definitions::parse(&text) {
            let _ = Generator::new().generate(&definitions);
        }
    }

    /// Keywords of any JSON type: an error names the field, and nothing panics.
    #[test]
    fn any_schema_is_an_answer_or_an_error(keys in prop::collection::vec((prop::sample::select(vec![
        "type", "properties", "items", "additionalProperties", "enum", "required", "format", "nullable", "default", "x-kubernetes-int-or-string",
        "x-kubernetes-preserve-unknown-fields", "allOf", "x-kubernetes-embedded-resource",
    ]), any_value()), 0..6)) {
        let schema: Map<String, Value> = keys.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        let crd = json!({ "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": { "name": "as.b" },
            "spec": { "group": "b", "scope": "Cluster", "names": { "kind": "A", "plural": "as" },
                "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": { "type": "object", "properties": { "spec": schema } } } }] } });
        match Definitions::parse(&crd.to_string()) {
            Ok(definitions) => {
                Generator::new().generate(&definitions).unwrap();
            }
            Err(err) => prop_assert!(err.to_string().contains("spec.versions[0].schema"), "{}", err),
        }
    }
}
