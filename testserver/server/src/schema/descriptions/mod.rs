//! Descriptions of built-in types and fields, for OpenAPI documents. The table is indexed at the first use, and a type's line is parsed
//! when the type is published.

use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

use serde_json::Value;

static TABLE: &str = include_str!("../../../data/descriptions.jsonl");

/// The line with descriptions shared by most types.
const SHARED: &str = "*";
/// The member of a line that describes the type itself.
const OWN: &str = "";

type Texts = BTreeMap<String, String>;

static LINES: LazyLock<HashMap<&'static str, &'static str>> =
    LazyLock::new(|| TABLE.lines().filter_map(|line| line.split_once('\t')).collect());
static SHARED_TEXTS: LazyLock<Texts> = LazyLock::new(|| texts(SHARED));

/// Adds the descriptions of a built-in type and its fields to its schema.
pub(super) fn describe(type_name: &str, schema: &mut Value) {
    let mut texts = texts(type_name);
    if let Some(own) = texts.remove(OWN) {
        schema["description"] = own.into();
    }
    let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) else { return };
    for (field, property) in properties {
        if let Some(text) = texts.remove(field).or_else(|| SHARED_TEXTS.get(field).cloned()) {
            property["description"] = text.into();
        }
    }
}

/// The descriptions of `apiVersion`, `kind` and `metadata`.
pub(crate) fn of_every_object(field: &str) -> Option<&'static str> {
    SHARED_TEXTS.get(field).map(String::as_str)
}

/// The descriptions of `apiVersion`, `kind` and `metadata` of an object in another one.
pub(crate) fn of_embedded_object(field: &str) -> Option<&'static str> {
    match field {
        "apiVersion" => Some(
            "apiVersion defines the versioned schema of this representation of an object. More info: \
             https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources",
        ),
        "kind" => Some(
            "kind is a string value representing the type of this object. In CamelCase. More info: \
             https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds",
        ),
        field => of_every_object(field),
    }
}

/// The description of the `metadata` of a list of custom resources.
pub(crate) fn of_every_list() -> Option<&'static str> {
    Some(
        "Standard list metadata. More info: \
         https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds",
    )
}

fn texts(type_name: &str) -> Texts {
    let parsed = LINES.get(type_name).map(|line| serde_json::from_str(line));
    parsed
        .transpose()
        .expect("invariant: every line of the table of descriptions is JSON, checked by a test")
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::types;

    #[test]
    fn every_line_describes_a_type_and_its_fields() {
        for name in LINES.keys().filter(|name| **name != SHARED) {
            let schema = types::by_name(name).unwrap_or_else(|| panic!("no type {name}")).to_openapi();
            for field in texts(name).keys().filter(|field| *field != OWN) {
                assert!(schema["properties"][field]["description"].is_string(), "{name}: {field}");
            }
        }
    }

    #[test]
    fn types_have_own_or_shared_descriptions() {
        let pod = types::by_name("io.k8s.api.core.v1.Pod").unwrap().to_openapi();
        let text = |value: &Value| value["description"].as_str().unwrap().to_string();
        assert!(text(&pod).starts_with("Pod is a collection of containers"));
        assert!(text(&pod["properties"]["spec"]).starts_with("Specification of the desired behavior"));
        assert_eq!(text(&pod["properties"]["kind"]), of_every_object("kind").unwrap());
        let port = types::by_name("io.k8s.api.core.v1.ContainerPort").unwrap().to_openapi();
        assert!(text(&port["properties"]["containerPort"]).contains("valid port number"));
    }

    #[test]
    fn nearly_every_field_is_described() {
        let schemas: Vec<_> = types::names().map(|name| types::by_name(name).unwrap().to_openapi()).collect();
        let fields = schemas.iter().flat_map(|schema| schema["properties"].as_object()).flatten();
        let (said, unsaid): (Vec<_>, Vec<_>) =
            fields.partition(|(_, field)| field.get("description").is_some());
        assert!(said.len() > 2500 && unsaid.len() * 50 < said.len(), "{} {}", said.len(), unsaid.len());
    }
}
