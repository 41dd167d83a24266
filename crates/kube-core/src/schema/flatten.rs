//! Structs that are flattened into others. schemars copies the fields of a flattened struct into the outer one, keeps only the
//! first list of rules, and loses which fields are optional together. These functions preserve that.

use schemars::Schema;
use serde_json::{Value, json};

use super::node::{Node, RULES, property};

/// Prepares the schema of a struct for `#[serde(flatten)]`: repeats its rules, its fields and its required fields in an `anyOf`
/// with one branch. schemars keeps that branch intact when it flattens the struct, and adds a second branch if the struct is
/// optional.
///
/// `#[derive(KubeSchema)]` calls it. The schema allows the same values as before. Without rules and defaults it is unchanged.
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

/// Removes the defaults of those fields of `schema` that are fields of `part`, an optional flattened struct: a server would
/// apply them even if the struct is absent.
///
/// The derive macros call it for `Option<_>` fields with `#[serde(flatten)]`.
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
