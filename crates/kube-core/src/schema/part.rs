//! Structs that may be flattened into others. schemars copies the fields of a flattened struct into the outer one, keeps only the
//! first list of rules, and says nowhere which fields were optional together; these functions let it say so.

use schemars::Schema;
use serde_json::{Value, json};

use super::{
    Node,
    keywords::{RULES, property},
};

/// Prepares the schema of a struct for `#[serde(flatten)]`: repeats its rules, and which fields it has and requires, in an `anyOf`
/// of one branch, which stays a whole when the struct is flattened, and gets another branch beside it when that is optional.
///
/// `#[derive(KubeSchema)]` calls it. The schema means the same as before. Nothing happens to one without rules and defaults.
///
/// ```
/// use kube_core::schema::flattenable;
/// use schemars::json_schema;
///
/// let mut schema = json_schema!({ "type": "object", "properties": { "tag": { "type": "string", "default": "latest" } } });
/// flattenable(&mut schema);
/// assert_eq!(schema.pointer("/anyOf/0/properties/tag"), Some(&true.into()));
/// ```
pub fn flattenable(schema: &mut Schema) {
    let node = schema.ensure_object();
    let fields = node.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
    if !node.contains_key(RULES) && !fields.values().any(|field| field.get("default").is_some()) {
        return;
    }
    let names: Node = fields.into_iter().map(|(name, _)| (name, true.into())).collect();
    let mut part =
        Node::from_iter([("type".to_owned(), json!("object")), ("properties".to_owned(), names.into())]);
    for key in ["required", RULES] {
        part.extend(node.get(key).map(|value| (key.to_owned(), value.clone())));
    }
    for key in ["allOf", "anyOf", "oneOf"] {
        part.extend(node.remove(key).map(|value| (key.to_owned(), value)));
    }
    node.insert("anyOf".into(), json!([part]));
}

/// Removes the defaults of the fields that `schema` has from the struct `part`, which is optional and flattened into it: a server
/// would fill them in where the part is absent.
///
/// The derive macros call it for fields of the type `Option<_>` with `#[serde(flatten)]`.
///
/// ```
/// use kube_core::schema::flattened_option;
/// use schemars::json_schema;
///
/// let part = json_schema!({ "properties": { "tag": { "type": "string", "default": "latest" } } });
/// let mut schema = json_schema!({
///     "properties": { "tag": { "type": "string", "default": "latest" }, "own": { "type": "integer", "default": 1 } },
/// });
/// flattened_option(&mut schema, &part);
/// assert_eq!(schema.pointer("/properties/tag/default"), None);
/// assert_eq!(schema.pointer("/properties/own/default"), Some(&1.into()));
/// ```
pub fn flattened_option(schema: &mut Schema, part: &Schema) {
    let Some(part) = part.as_object() else { return };
    let fields = schema.get_mut("properties").and_then(Value::as_object_mut);
    for (name, field) in fields.into_iter().flatten() {
        if let Some(field) = field.as_object_mut().filter(|_| property(part, name).is_some()) {
            field.remove("default");
        }
    }
}
