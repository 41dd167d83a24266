//! Merge strategies that servers do not accept at their type.

use serde_json::{Value, json};

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

/// The fields of the type `Condition` of Kubernetes.
const CONDITION: [&str; 6] =
    ["lastTransitionTime", "message", "observedGeneration", "reason", "status", "type"];

/// Gives a list of conditions the key `type`, unless it has a strategy: otherwise one controller would replace the conditions of the
/// others.
pub(super) fn key_conditions(node: &mut Node) {
    let items = node.get("items").and_then(Value::as_object);
    let is_condition = items.is_some_and(|items| {
        let fields = items.get("properties").and_then(Value::as_object);
        let required = items.get("required").and_then(Value::as_array);
        let is_required =
            |field: &str| required.is_some_and(|required| required.iter().any(|name| name == field));
        fields.is_some_and(|fields| {
            fields.len() == CONDITION.len() && CONDITION.iter().all(|name| fields.contains_key(*name))
        }) && CONDITION.iter().all(|name| is_required(name) != (*name == "observedGeneration"))
    });
    if is_condition && !node.contains_key("x-kubernetes-list-type") {
        node.insert("x-kubernetes-list-type".into(), "map".into());
        node.insert("x-kubernetes-list-map-keys".into(), json!(["type"]));
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

    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

    use super::{MisplacedStrategy, find_misplaced};
    use crate::schema::StructuralSchemaRewriter;

    #[derive(schemars::JsonSchema)]
    #[allow(dead_code, reason = "only its schema is used")]
    struct Status {
        conditions: Vec<Condition>,
        optional: Option<Vec<Condition>>,
        #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
        replaced: Vec<Condition>,
        last: Condition,
        names: Vec<String>,
    }

    #[test]
    fn lists_of_conditions_have_a_key_unless_a_strategy_is_given() {
        let settings = schemars::generate::SchemaSettings::openapi3();
        let settings =
            settings.with_transform(StructuralSchemaRewriter).with(|it| it.inline_subschemas = true);
        let schema =
            serde_json::to_value(settings.into_generator().into_root_schema_for::<Status>()).unwrap();
        let strategy = |field: &str| {
            let field = &schema["properties"][field];
            (field["x-kubernetes-list-type"].as_str(), field["x-kubernetes-list-map-keys"].clone())
        };
        let map = (Some("map"), json!(["type"]));
        assert_eq!((strategy("conditions"), strategy("optional")), (map.clone(), map));
        assert_eq!(strategy("replaced"), (Some("atomic"), json!(null)));
        assert_eq!((strategy("last"), strategy("names")), ((None, json!(null)), (None, json!(null))));
    }

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
