//! Optional enumerations and numbers-or-strings: nodes that may be null.

use schemars::{
    Schema,
    transform::{Transform, transform_subschemas},
};
use serde_json::{Value, json};

use super::node::{INT_OR_STRING, Node, add_condition, flag, is_null_only};

/// Allows `null` for an optional enumeration.
///
/// `Option<Enum>` without `skip_serializing_if` serializes as `null`, and servers reject `null` for an `enum` even if that lists
/// it. They do not check `anyOf` for null values, so the values move there. `kubectl explain` shows the type of such a field (of
/// one with `allOf` it does not), but no `enum` except the field's own: the description lists the values.
///
/// ```
/// use kube_core::schema::OptionalEnum;
/// use schemars::{json_schema, transform::Transform};
///
/// let mut schema = json_schema!({ "type": "string", "nullable": true, "enum": ["Blue", "Green", null] });
/// OptionalEnum.transform(&mut schema);
/// assert_eq!(schema, json_schema!({
///     "type": "string",
///     "nullable": true,
///     "anyOf": [{ "enum": ["Blue", "Green"] }],
///     "description": "One of `Blue`, `Green`.",
/// }));
/// ```
///
/// `anyOf` of an enumeration and `null` becomes the same form. Applies to all subschemas.
#[derive(Clone, Debug)]
pub struct OptionalEnum;

impl Transform for OptionalEnum {
    fn transform(&mut self, schema: &mut Schema) {
        transform_subschemas(self, schema);
        let Some(node) = schema.as_object_mut() else { return };
        unwrap_optional(node, |value| value.contains_key("enum"));
        let lists_null =
            matches!(node.get("enum"), Some(Value::Array(values)) if values.contains(&Value::Null));
        if flag(node, "nullable") && (lists_null || node.contains_key("type")) && !is_null_only(node) {
            describe_values(node);
            enum_beside_null(node);
        }
    }
}

/// Appends the values to the description, unless the variants are described there.
fn describe_values(node: &mut Node) {
    let values = node.get("enum").and_then(Value::as_array).into_iter().flatten();
    let texts: Vec<_> = values.filter_map(Value::as_str).map(|value| format!("`{value}`")).collect();
    let description = node.get("description").and_then(Value::as_str).unwrap_or_default();
    if texts.iter().all(|text| description.contains(text)) {
        return;
    }
    let list = format!("One of {}.", texts.join(", "));
    let description = if description.is_empty() { list } else { format!("{description}\n\n{list}") };
    node.insert("description".into(), description.into());
}

/// Allows `null` for an optional [`IntOrString`](k8s_openapi::apimachinery::pkg::util::intstr::IntOrString).
///
/// schemars assumes that a node without a type allows `null` anyway, so the schemas of `IntOrString` and `Option<IntOrString>`
/// are equal. This transform treats a property that is not required as optional, unless it has `nullable: false`. `anyOf` of such
/// a node and `null` becomes the node with `nullable: true`. Applies to all subschemas.
/// ([`structural_schema`](super::structural_schema) distinguishes the two types; this is for handwritten nodes.)
///
/// ```
/// use kube_core::schema::OptionalIntOrString;
/// use schemars::{json_schema, transform::Transform};
///
/// let mut schema = json_schema!({
///     "required": ["port"],
///     "properties": {
///         "port": { "x-kubernetes-int-or-string": true },
///         "other": { "x-kubernetes-int-or-string": true },
///     },
/// });
/// OptionalIntOrString.transform(&mut schema);
/// assert_eq!(schema.pointer("/properties/port/nullable"), None);
/// assert_eq!(schema.pointer("/properties/other/nullable"), Some(&true.into()));
/// ```
#[derive(Clone, Debug)]
pub struct OptionalIntOrString;

impl Transform for OptionalIntOrString {
    fn transform(&mut self, schema: &mut Schema) {
        transform_subschemas(self, schema);
        let Some(node) = schema.as_object_mut() else { return };
        unwrap_optional(node, |value| flag(value, INT_OR_STRING));
        let required = node.get("required").cloned().unwrap_or_default();
        let is_required =
            |name: &str| required.as_array().is_some_and(|names| names.iter().any(|other| other == name));
        for (name, property) in
            node.get_mut("properties").and_then(Value::as_object_mut).into_iter().flatten()
        {
            if let Some(property) = property.as_object_mut().filter(|property| flag(property, INT_OR_STRING))
                && !is_required(name)
            {
                property.entry("nullable").or_insert(true.into());
            }
        }
    }
}

/// Moves the `enum` of a nullable node into `anyOf`, where servers do not check it for `null`.
pub(super) fn enum_beside_null(node: &mut Node) {
    let Some(Value::Array(mut values)) = node.remove("enum") else { return };
    values.retain(|value| !value.is_null());
    let condition = json!({ "enum": values });
    if node.contains_key("anyOf") {
        add_condition(node, condition);
    } else {
        node.insert("anyOf".into(), json!([condition]));
    }
}

/// Replaces `anyOf`/`oneOf` of null and one schema that matches `applies` by that schema, nullable. The outer description stays.
fn unwrap_optional(node: &mut Node, applies: impl Fn(&Node) -> bool) {
    for key in ["anyOf", "oneOf"] {
        let Some(Value::Array(branches)) = node.get(key) else { continue };
        let branches: Vec<&Node> = branches.iter().filter_map(Value::as_object).collect();
        let value = match branches[..] {
            [value, null] | [null, value] if is_null(null) && !is_null(value) && applies(value) => {
                value.clone()
            }
            _ => continue,
        };
        node.remove(key);
        for (key, value) in value {
            node.entry(key).or_insert(value);
        }
        node.insert("nullable".into(), true.into());
    }
}

fn is_null(node: &Node) -> bool {
    is_null_only(node)
        || node.get("const").is_some_and(Value::is_null)
        || node.get("type").is_some_and(|name| name == "null")
}
