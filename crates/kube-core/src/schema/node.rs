//! A schema node while it is rewritten: its keywords, and the one type it has.

use serde_json::{Map, Value, json};

/// A schema node while it is rewritten.
pub(super) type Node = Map<String, Value>;

pub(super) const OPEN: &str = "x-kubernetes-preserve-unknown-fields";
pub(super) const RULES: &str = "x-kubernetes-validations";
pub(super) const INT_OR_STRING: &str = "x-kubernetes-int-or-string";

/// Value validations: keywords that are allowed inside of `allOf`, `anyOf`, `oneOf` and `not` (`format` is too, but servers warn
/// about one without a type).
pub(super) const VALIDATIONS: &[&str] = &[
    "enum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "pattern",
];

/// Whether `null` is the only value of `node`.
pub(super) fn is_null_only(node: &Node) -> bool {
    node.get("enum").and_then(Value::as_array).is_some_and(|values| values.iter().all(Value::is_null))
}

/// Whether the key is `true`.
pub(super) fn flag(node: &Node, key: &str) -> bool {
    node.get(key) == Some(&Value::Bool(true))
}

/// The fields that the node requires.
pub(super) fn required(node: &Node) -> impl Iterator<Item = &str> {
    node.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

/// A field of the node.
pub(super) fn property<'a>(node: &'a Node, name: &str) -> Option<&'a Node> {
    node.get("properties")?.get(name)?.as_object()
}

/// Adds a condition as an item of `allOf`, because the keyword itself is taken.
pub(super) fn add_condition(node: &mut Node, condition: Value) {
    if let Value::Array(all) = node.entry("allOf").or_insert(json!([]))
        && !all.contains(&condition)
    {
        all.push(condition);
    }
}

/// The type of a structural node, which every node must have.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum NodeType {
    Type(String),
    IntOrString,
    /// Any value: open, without a type.
    Any,
}

/// The type of `node`, `None` if it has none yet.
pub(super) fn node_type(node: &Node) -> Option<NodeType> {
    if flag(node, INT_OR_STRING) {
        return Some(NodeType::IntOrString);
    }
    match node.get("type") {
        Some(Value::String(name)) => Some(NodeType::Type(name.clone())),
        _ if flag(node, OPEN) => Some(NodeType::Any),
        _ => None,
    }
}

/// The type that the keywords of a node without a type imply.
pub(super) fn inferred_type(node: &Node) -> Option<NodeType> {
    let type_of_values = node.get("enum").and_then(Value::as_array).and_then(|values| common_type(values));
    let has = |keys: &[&str]| keys.iter().any(|key| node.contains_key(*key));
    let name = match type_of_values {
        Some(name) => name,
        None if has(&["properties", "additionalProperties", "required"]) => "object",
        None if has(&["items"]) => "array",
        None => return None,
    };
    Some(NodeType::Type(name.into()))
}

fn common_type(values: &[Value]) -> Option<&'static str> {
    let name = |value: &Value| match value {
        Value::Bool(_) => Some("boolean"),
        Value::Number(number) if number.is_f64() => Some("number"),
        Value::Number(_) => Some("integer"),
        Value::String(_) => Some("string"),
        Value::Array(_) => Some("array"),
        Value::Object(_) => Some("object"),
        Value::Null => None,
    };
    let first = name(values.first()?)?;
    values.iter().all(|value| name(value) == Some(first)).then_some(first)
}

pub(super) fn set_type(node: &mut Node, node_type: NodeType) {
    match node_type {
        NodeType::Type(name) => node.insert("type".into(), name.into()),
        NodeType::IntOrString => node.insert(INT_OR_STRING.into(), true.into()),
        NodeType::Any => node.insert(OPEN.into(), true.into()),
    };
}
