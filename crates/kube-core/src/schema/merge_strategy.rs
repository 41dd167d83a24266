//! Merge strategies that servers do not accept at their type.

use serde_json::Value;

use super::node::Node;

const REQUIRED_TYPES: [(&str, &str); 2] =
    [("x-kubernetes-map-type", "object"), ("x-kubernetes-list-type", "array")];

/// A strategy at a value of the wrong type.
#[derive(Debug, PartialEq)]
pub(super) struct MisplacedStrategy {
    pub(super) keyword: &'static str,
    pub(super) wanted: &'static str,
    pub(super) found: String,
    pub(super) path: String,
}

/// Removes `granular` from a value of any type, which is the default there and needs the type `object`.
pub(super) fn drop_default(node: &mut Node) {
    if !node.contains_key("type")
        && node.get("x-kubernetes-map-type").is_some_and(|merge| merge == "granular")
    {
        node.remove("x-kubernetes-map-type");
    }
}

/// The first strategy in a structural schema that servers reject. Recursive, like the schema.
pub(super) fn find_misplaced(schema: &Value, path: &str) -> Option<MisplacedStrategy> {
    let node = schema.as_object()?;
    let found = node.get("type").and_then(Value::as_str);
    let here = REQUIRED_TYPES
        .into_iter()
        .find(|(keyword, wanted)| node.contains_key(*keyword) && found != Some(wanted));
    if let Some((keyword, wanted)) = here {
        let found = found.unwrap_or("any value").to_owned();
        return Some(MisplacedStrategy { keyword, wanted, found, path: path.to_owned() });
    }
    let fields = node.get("properties").and_then(Value::as_object).into_iter().flatten();
    let inner = ["items", "additionalProperties"].into_iter().filter_map(|key| node.get(key));
    fields
        .map(|(name, field)| (field, format!("{path}.{name}")))
        .chain(inner.map(|inner| (inner, format!("{path}[*]"))))
        .find_map(|(inner, path)| find_misplaced(inner, &path))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{MisplacedStrategy, find_misplaced};

    #[test]
    fn a_misplaced_strategy_is_reported_with_its_path() {
        let list = json!({ "type": "string", "x-kubernetes-list-type": "set" });
        let found = find_misplaced(&json!({ "properties": { "a": { "items": list } } }), ".spec");
        let expected = MisplacedStrategy {
            keyword: "x-kubernetes-list-type",
            wanted: "array",
            found: "string".into(),
            path: ".spec.a[*]".into(),
        };
        assert_eq!(found, Some(expected));
        let map = json!({ "type": "object", "x-kubernetes-map-type": "atomic" });
        assert_eq!(find_misplaced(&json!({ "additionalProperties": map }), ""), None);
    }
}
