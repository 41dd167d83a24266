//! What the attributes of one field say about its property, where schemars has no attribute for it. The derive macros call these with the
//! schema of a struct with this field alone, because only serde and schemars know the field's name.

use schemars::Schema;
use serde_json::{Value, json};

use super::node::Node;

/// A format that is written to the definition as it is: servers interpret `byte`, for example, which is a pattern otherwise.
pub(super) const WRITTEN_FORMAT: &str = "x-kubernetes-written-format";

/// `#[x_kube(nullable = false)]`: the field may be absent, but not null.
#[doc(hidden)]
pub fn never_null(property: &mut Schema) {
    let is_null = |schema: &Value| schema.get("type").is_some_and(|name| name == "null");
    for node in properties(property) {
        if let Some(Value::Array(types)) = node.get_mut("type") {
            types.retain(|name| name != "null");
        }
        for key in ["anyOf", "oneOf"] {
            if let Some(Value::Array(branches)) = node.get_mut(key) {
                branches.retain(|branch| !is_null(branch));
            }
        }
        if let Some(Value::Array(values)) = node.get_mut("enum") {
            values.retain(|value| !value.is_null());
        }
        node.insert("nullable".into(), false.into());
    }
}

/// `#[x_kube(format = "byte")]`.
#[doc(hidden)]
pub fn written_format(property: &mut Schema, format: &str) {
    for node in properties(property) {
        node.insert(WRITTEN_FORMAT.into(), format.into());
    }
}

/// `#[schemars(length(min = 1, max = 9))]` of a map, which schemars applies to strings and lists only.
#[doc(hidden)]
pub fn map_length(property: &mut Schema, min: Option<u64>, max: Option<u64>) {
    for node in properties(property) {
        if !["additionalProperties", "patternProperties"].iter().any(|key| node.contains_key(*key)) {
            continue;
        }
        for (key, limit) in [("minProperties", min), ("maxProperties", max)] {
            if let Some(limit) = limit {
                node.insert(key.into(), json!(limit));
            }
        }
    }
}

/// Makes a written format the format, at the end of the rewriting.
pub(super) fn apply_written_format(node: &mut Node) {
    if let Some(format) = node.remove(WRITTEN_FORMAT) {
        node.insert("format".into(), format);
    }
}

fn properties(schema: &mut Schema) -> impl Iterator<Item = &mut Node> {
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
    properties.into_iter().flat_map(|properties| properties.values_mut()).filter_map(Value::as_object_mut)
}

#[cfg(test)]
mod tests {
    use schemars::json_schema;

    use super::*;

    #[test]
    fn null_is_removed_from_every_spelling_of_an_optional_field() {
        for optional in [
            json!({ "type": ["string", "null"] }),
            json!({ "type": "string", "nullable": true }),
            json!({ "anyOf": [{ "type": "string" }, { "type": "null" }] }),
            json!({ "type": ["string", "null"], "enum": ["a", null] }),
        ] {
            let mut schema = json_schema!({ "properties": { "field": optional } });
            never_null(&mut schema);
            let text = schema.to_value().to_string();
            assert!(
                text.contains(r#""nullable":false"#) && !text.contains("null\"") && !text.contains(",null"),
                "{text}"
            );
        }
    }

    #[test]
    fn a_length_applies_to_maps_only() {
        let map = json!({ "type": "object", "additionalProperties": { "type": "string" } });
        let mut schema = json_schema!({ "properties": { "list": { "type": "array" }, "map": map } });
        map_length(&mut schema, Some(1), Some(9));
        let expected = json!({ "type": "object", "additionalProperties": { "type": "string" }, "minProperties": 1, "maxProperties": 9 });
        assert_eq!(schema.pointer("/properties/map"), Some(&expected));
        assert_eq!(schema.pointer("/properties/list"), Some(&json!({ "type": "array" })));
    }
}
