//! Conditions of value validations alone, which servers take as they are written: under `not`, and as branches of `oneOf` and `anyOf`.

use serde_json::Value;

use super::{
    keywords::normalize,
    node::{Node, NodeType, VALIDATIONS, node_type},
};

/// Keywords that a condition may lose: they restrict nothing.
const COMMENTS: &[&str] = &["default", "description", "example", "externalDocs", "title"];

/// The branches of `key`, if each is a condition about what `node` declares. Then nothing has to move out of them, and `oneOf` keeps its
/// meaning whatever the branches have in common.
pub(super) fn as_written(node: &Node, key: &str, branches: &[Value]) -> Option<Vec<Value>> {
    let commented = |branch: &Value| COMMENTS.iter().any(|key| branch.get(key).is_some());
    if branches.len() < 2 || branches.iter().any(commented) {
        return None;
    }
    let branches: Vec<_> =
        branches.iter().map(|branch| condition(branch, node).map(Value::Object)).collect::<Option<_>>()?;
    let restricts = key == "oneOf" || branches.iter().all(|branch| branch != &Value::Object(Node::new()));
    restricts.then_some(branches)
}

/// The schema, reduced to what servers allow inside of `not`, `oneOf`, `anyOf` and `allOf` of `node`, if that has the same meaning: a type
/// may be left out where `node` has it too, and a field has to be declared there.
pub(super) fn condition(schema: &Value, node: &Node) -> Option<Node> {
    if !schema.is_object() {
        return None;
    }
    let mut condition = Node::new();
    for (key, value) in normalize(schema.clone()) {
        let value = match (key.as_str(), value) {
            (key, _) if COMMENTS.contains(&key) => continue,
            ("type", Value::String(name)) if node_type(node) == Some(NodeType::Type(name.clone())) => {
                continue;
            }
            ("properties", Value::Object(fields)) => {
                let declared = |name: &str| node.get("properties")?.get(name)?.as_object();
                let field = |(name, value): (String, Value)| {
                    let inner = self::condition(&value, declared(&name)?)?;
                    Some((name, inner.into()))
                };
                Value::Object(fields.into_iter().map(field).collect::<Option<_>>()?)
            }
            ("items", items) => self::condition(&items, node.get("items")?.as_object()?)?.into(),
            ("allOf" | "anyOf" | "oneOf", Value::Array(branches)) => {
                let inner = branches.iter().map(|branch| self::condition(branch, node).map(Value::Object));
                Value::Array(inner.collect::<Option<_>>()?)
            }
            ("not", not) => self::condition(&not, node)?.into(),
            (key, value) if key == "required" || VALIDATIONS.contains(&key) => value,
            _ => return None,
        };
        condition.insert(key, value);
    }
    Some(condition)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn node() -> Node {
        let node = json!({
            "type": "object",
            "properties": { "a": { "type": "string" }, "l": { "type": "array", "items": { "type": "integer" } } },
        });
        node.as_object().cloned().unwrap_or_default()
    }

    #[test]
    fn types_that_are_declared_outside_are_left_out() {
        let written = json!({
            "type": "object",
            "properties": { "a": { "type": "string", "const": "x" }, "l": { "items": { "minimum": 1 } } },
            "not": { "anyOf": [{ "required": ["a"] }, { "maxProperties": 1, "title": "few" }] },
        });
        let reduced = json!({
            "properties": { "a": { "enum": ["x"] }, "l": { "items": { "minimum": 1 } } },
            "not": { "anyOf": [{ "required": ["a"] }, { "maxProperties": 1 }] },
        });
        assert_eq!(condition(&written, &node()).map(Value::Object), Some(reduced));
    }

    #[test]
    fn what_would_change_the_meaning_is_no_condition() {
        for written in [
            json!({ "type": "string" }),
            json!({ "properties": { "a": { "type": "integer" } } }),
            json!({ "properties": { "undeclared": { "enum": ["x"] } } }),
            json!({ "additionalProperties": { "enum": ["x"] } }),
            json!({ "properties": { "a": { "format": "date" } } }),
            json!({ "$ref": "#/$defs/Other" }),
            json!({ "properties": { "a": { "type": "string", "nullable": true } } }),
            json!(true),
        ] {
            assert_eq!(condition(&written, &node()), None, "{written}");
        }
    }
}
