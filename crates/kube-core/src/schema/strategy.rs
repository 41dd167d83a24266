//! Merge strategies where no server takes them.

use serde_json::Value;

use super::Node;

const STRATEGIES: [(&str, &str); 2] =
    [("x-kubernetes-map-type", "object"), ("x-kubernetes-list-type", "array")];

/// A strategy for a value of another type.
#[derive(Debug, PartialEq)]
pub(super) struct Misplaced {
    pub(super) keyword: &'static str,
    pub(super) wanted: &'static str,
    pub(super) found: String,
    pub(super) path: String,
}

/// Removes what says no more than the default: the fields of a value of any type have their own owners.
pub(super) fn settle(node: &mut Node) {
    if !node.contains_key("type")
        && node.get("x-kubernetes-map-type").is_some_and(|merge| merge == "granular")
    {
        node.remove("x-kubernetes-map-type");
    }
}

/// The first strategy in a structural schema that servers would refuse.
pub(super) fn find(schema: &Value, path: &str) -> Option<Misplaced> {
    let node = schema.as_object()?;
    let found = node.get("type").and_then(Value::as_str);
    let here =
        STRATEGIES.into_iter().find(|(keyword, wanted)| node.contains_key(*keyword) && found != Some(wanted));
    if let Some((keyword, wanted)) = here {
        let found = found.unwrap_or("any value").to_owned();
        return Some(Misplaced { keyword, wanted, found, path: path.to_owned() });
    }
    let fields = node.get("properties").and_then(Value::as_object).into_iter().flatten();
    let inner = ["items", "additionalProperties"].into_iter().filter_map(|key| node.get(key));
    fields
        .map(|(name, field)| (field, format!("{path}.{name}")))
        .chain(inner.map(|inner| (inner, format!("{path}[*]"))))
        .find_map(|(inner, path)| find(inner, &path))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Misplaced, find};

    #[test]
    fn the_place_is_named() {
        let list = json!({ "type": "string", "x-kubernetes-list-type": "set" });
        let found = find(&json!({ "properties": { "a": { "items": list } } }), ".spec");
        let expected = Misplaced {
            keyword: "x-kubernetes-list-type",
            wanted: "array",
            found: "string".into(),
            path: ".spec.a[*]".into(),
        };
        assert_eq!(found, Some(expected));
        let map = json!({ "type": "object", "x-kubernetes-map-type": "atomic" });
        assert_eq!(find(&json!({ "additionalProperties": map }), ""), None);
    }
}
