//! Schemas of custom resources in OpenAPI documents: with the members of every object, as genuine servers publish them, and the kind of
//! their list.

use serde_json::{Map, Value, json};

use super::Endpoint;
use crate::schema::{descriptions, types::OBJECT_META};

const LIST_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta";
const CONVENTIONS: &str =
    "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md";

/// The published schema of a kind. `reference` is the prefix of references.
pub(super) fn schema(endpoint: &Endpoint, reference: &str) -> Value {
    let mut schema = endpoint.schema().to_openapi();
    select(endpoint, &mut schema);
    embedded(&mut schema, reference);
    let members = members(descriptions::of_every_object, OBJECT_META, reference);
    insert(&mut schema, members);
    schema
}

/// The published schema of the list of a kind, whose schema is called `item`.
pub(super) fn list(endpoint: &Endpoint, item: &str, reference: &str) -> Value {
    let resource = &endpoint.resource;
    let text = |field: &str| match field {
        "metadata" => descriptions::of_every_list(),
        field => descriptions::of_every_object(field),
    };
    let mut members = members(text, LIST_META, reference);
    let mut items = json!({"type": "array", "items": {"$ref": format!("{reference}{item}")}});
    describe(
        &mut items,
        descriptions::of_every_list()
            .map(|_| format!("List of {}. More info: {CONVENTIONS}", resource.plural)),
    );
    members.insert("items".into(), items);
    let mut schema = json!({"type": "object", "required": ["items"], "properties": members});
    let what = format!("{} is a list of {}", resource.list_kind, endpoint.kind());
    describe(&mut schema, descriptions::of_every_list().map(|_| what));
    select(endpoint, &mut schema);
    schema
}

fn select(endpoint: &Endpoint, schema: &mut Value) {
    let fields = endpoint.version().selectable.iter().map(|path| json!({"fieldPath": path}));
    let fields: Vec<Value> = fields.collect();
    if !fields.is_empty() {
        schema["x-kubernetes-selectable-fields"] = fields.into();
    }
}

/// Adds the members of embedded objects, at any depth.
fn embedded(doc: &mut Value, reference: &str) {
    match doc {
        Value::Object(map) => {
            let schemas =
                map.iter_mut().filter(|(name, _)| !matches!(name.as_str(), "default" | "enum" | "example"));
            schemas.for_each(|(_, value)| embedded(value, reference));
            if map.get("x-kubernetes-embedded-resource") == Some(&Value::Bool(true)) {
                let mut required = map.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
                for name in ["kind", "apiVersion"] {
                    if !required.contains(&name.into()) {
                        required.push(name.into());
                    }
                }
                map.insert("required".into(), required.into());
                insert(doc, members(descriptions::of_embedded_object, OBJECT_META, reference));
            }
        }
        Value::Array(list) => list.iter_mut().for_each(|value| embedded(value, reference)),
        _ => {}
    }
}

/// `apiVersion`, `kind` and `metadata`.
fn members(
    text: impl Fn(&str) -> Option<&'static str>,
    metadata: &str,
    reference: &str,
) -> Map<String, Value> {
    let string = json!({"type": "string"});
    let metadata = json!({"allOf": [{"$ref": format!("{reference}{metadata}")}]});
    let members = [("apiVersion", string.clone()), ("kind", string), ("metadata", metadata)];
    let described = members.into_iter().map(|(field, mut property)| {
        describe(&mut property, text(field));
        (field.to_owned(), property)
    });
    described.collect()
}

fn describe(schema: &mut Value, text: Option<impl Into<Value>>) {
    if let Some(text) = text {
        schema["description"] = text.into();
    }
}

fn insert(schema: &mut Value, members: Map<String, Value>) {
    for (field, property) in members {
        schema["properties"][field] = property;
    }
}
