//! Adds rules and merge strategies to a schema.

use schemars::Schema;
use serde::ser::Error as _;
use serde_json::{Error, Map, Result, Value, json};

use super::{ListMerge, MergeStrategy, Rule};

const RULES: &str = "x-kubernetes-validations";

/// Adds a rule to the schema itself, after its existing ones.
///
/// ```
/// let mut schema = schemars::json_schema!({ "type": "object" });
/// kube_core::cel::validate(&mut schema, ("self.a != self.b", "a and b must differ")).unwrap();
/// assert_eq!(
///     schema.get("x-kubernetes-validations").unwrap(),
///     &serde_json::json!([{ "rule": "self.a != self.b", "message": "a and b must differ" }]),
/// );
/// ```
///
/// # Errors
///
/// If `x-kubernetes-validations` of the schema is not a list.
pub fn validate(s: &mut Schema, rule: impl Into<Rule>) -> Result<()> {
    add_rule(s.ensure_object(), &rule.into())
}

/// Adds a rule to the property with this index, from 0, in the order of the schema
/// (alphabetical, unless serde_json's feature `preserve_order` is on).
///
/// ```
/// let mut schema = schemars::json_schema!({ "type": "object", "properties": { "a": {}, "b": { "type": "integer" } } });
/// kube_core::cel::validate_property(&mut schema, 1, "self > 0").unwrap();
/// assert_eq!(schema.pointer("/properties/b/x-kubernetes-validations/0/rule").unwrap(), "self > 0");
/// assert!(kube_core::cel::validate_property(&mut schema, 2, "self > 0").is_err());
/// ```
///
/// # Errors
///
/// When there is no such property.
pub fn validate_property(s: &mut Schema, property_index: usize, rule: impl Into<Rule> + Clone) -> Result<()> {
    validate(property(s, property_index)?, rule)
}

/// Sets how server-side apply merges one property (indexed as in [`validate_property`]).
///
/// ```
/// use kube_core::cel::{ListMerge, merge_strategy_property};
///
/// let mut schema = schemars::json_schema!({ "type": "object", "properties": { "tags": { "type": "array" } } });
/// merge_strategy_property(&mut schema, 0, ListMerge::Set).unwrap();
/// assert_eq!(schema.pointer("/properties/tags/x-kubernetes-list-type").unwrap(), "set");
/// ```
///
/// # Errors
///
/// When there is no such property.
pub fn merge_strategy_property(
    s: &mut Schema,
    property_index: usize,
    strategy: impl Into<MergeStrategy>,
) -> Result<()> {
    let property = property(s, property_index)?;
    let mut value = std::mem::take(property).to_value();
    merge_strategy(&mut value, strategy.into())?;
    *property = value.try_into()?;
    Ok(())
}

/// Sets how server-side apply merges a value of the schema `s`.
///
/// ```
/// use kube_core::cel::{ListMerge, merge_strategy};
///
/// let mut ports = serde_json::json!({ "type": "array" });
/// merge_strategy(&mut ports, ListMerge::Map(vec!["name".into()]).into()).unwrap();
/// assert_eq!(
///     ports,
///     serde_json::json!({ "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"] }),
/// );
/// ```
///
/// # Errors
///
/// If `s` is not an object.
pub fn merge_strategy(s: &mut Value, strategy: MergeStrategy) -> Result<()> {
    let node = s
        .as_object_mut()
        .ok_or_else(|| Error::custom("a merge strategy needs a schema that is an object"))?;
    match strategy {
        MergeStrategy::ListType(ListMerge::Map(keys)) => {
            node.insert("x-kubernetes-list-type".into(), "map".into());
            node.insert("x-kubernetes-list-map-keys".into(), keys.into());
        }
        plain => {
            if let Value::Object(extension) = serde_json::to_value(plain)? {
                node.extend(extension);
            }
        }
    }
    Ok(())
}

/// Merges the properties of `merge` into those of `s`: a keyword of a property in `merge` replaces the same keyword in `s`,
/// other keywords stay. `merge` is not changed.
///
/// ```
/// let mut schema = schemars::json_schema!({ "properties": { "a": { "type": "string" } } });
/// let mut more = schemars::json_schema!({ "properties": { "a": { "maxLength": 3 }, "b": {} } });
/// kube_core::cel::merge_properties(&mut schema, &mut more);
/// assert_eq!(
///     schema,
///     schemars::json_schema!({ "properties": { "a": { "type": "string", "maxLength": 3 }, "b": {} } }),
/// );
/// ```
pub fn merge_properties(s: &mut Schema, merge: &mut Schema) {
    let Some(from) = merge.get("properties").and_then(Value::as_object) else { return };
    let Some(into) = s.ensure_object().entry("properties").or_insert_with(|| json!({})).as_object_mut()
    else {
        return;
    };
    for (name, value) in from {
        match (into.get_mut(name), value) {
            (Some(Value::Object(own)), Value::Object(new)) => own.extend(new.clone()),
            _ => {
                into.insert(name.clone(), value.clone());
            }
        }
    }
}

fn add_rule(node: &mut Map<String, Value>, rule: &Rule) -> Result<()> {
    let rule = serde_json::to_value(rule)?;
    match node.entry(RULES).or_insert_with(|| json!([])) {
        Value::Array(rules) => {
            rules.push(rule);
            Ok(())
        }
        other => Err(Error::custom(format!("{RULES} must be a list of rules, found {other}"))),
    }
}

fn property(s: &mut Schema, index: usize) -> Result<&mut Schema> {
    let properties = s.get_mut("properties").and_then(Value::as_object_mut);
    let count = properties.as_ref().map_or(0, |properties| properties.len());
    let property: &mut Schema = properties
        .and_then(|properties| properties.values_mut().nth(index))
        .ok_or_else(|| Error::custom(format!("no property with index {index}: the schema has {count}")))?
        .try_into()?;
    property.ensure_object();
    Ok(property)
}

#[cfg(test)]
mod tests {
    use schemars::json_schema;

    use super::*;
    use crate::cel::{MapMerge, StructMerge};

    fn two() -> Schema {
        json_schema!({ "type": "object", "properties": { "a": { "type": "string" }, "b": true } })
    }

    #[test]
    fn rules_are_appended_in_order() {
        let mut schema = two();
        validate(&mut schema, "one").unwrap();
        validate(&mut schema, Rule::new("two")).unwrap();
        assert_eq!(schema.get(RULES).unwrap(), &json!([{ "rule": "one" }, { "rule": "two" }]));
    }

    #[test]
    fn properties_are_indexed_in_schema_order() {
        let mut schema = two();
        validate_property(&mut schema, 1, ("r", "m")).unwrap();
        validate_property(&mut schema, 0, "s").unwrap();
        merge_strategy_property(&mut schema, 1, MapMerge::Granular).unwrap();
        merge_strategy_property(&mut schema, 0, ListMerge::Set).unwrap();
        assert_eq!(
            schema.get("properties").unwrap(),
            &json!({
                "a": { "type": "string", RULES: [{ "rule": "s" }], "x-kubernetes-list-type": "set" },
                "b": { RULES: [{ "rule": "r", "message": "m" }], "x-kubernetes-map-type": "granular" },
            })
        );
    }

    #[test]
    fn a_missing_property_or_malformed_rule_list_is_an_error() {
        let mut schema = two();
        let error = validate_property(&mut schema, 2, "r").unwrap_err().to_string();
        assert_eq!(error, "no property with index 2: the schema has 2");
        let error =
            merge_strategy_property(&mut json_schema!({}), 0, ListMerge::Set).unwrap_err().to_string();
        assert_eq!(error, "no property with index 0: the schema has 0");
        let error = validate(&mut json_schema!({ RULES: "x" }), "r").unwrap_err().to_string();
        assert_eq!(error, r#"x-kubernetes-validations must be a list of rules, found "x""#);
        assert!(merge_strategy(&mut json!(true), ListMerge::Set.into()).is_err());
    }

    #[test]
    fn each_strategy_sets_its_extension_key() {
        let extension = |strategy: MergeStrategy| {
            let mut schema = json!({});
            merge_strategy(&mut schema, strategy).unwrap();
            schema
        };
        assert_eq!(extension(ListMerge::Atomic.into()), json!({ "x-kubernetes-list-type": "atomic" }));
        assert_eq!(extension(MapMerge::Atomic.into()), json!({ "x-kubernetes-map-type": "atomic" }));
        assert_eq!(
            extension(StructMerge::Granular.into()),
            json!({ "x-kubernetes-struct-type": "granular" })
        );
    }

    #[test]
    fn merged_properties_extend_existing_keywords() {
        let mut schema = two();
        let mut more = json_schema!({
            "properties": { "a": { "maxLength": 3 }, "b": { "type": "boolean" }, "c": { "type": "null" } },
            "required": ["c"],
        });
        merge_properties(&mut schema, &mut more);
        assert_eq!(
            schema,
            json_schema!({
                "type": "object",
                "properties": {
                    "a": { "type": "string", "maxLength": 3 },
                    "b": { "type": "boolean" },
                    "c": { "type": "null" },
                },
            })
        );
        let untouched = schema.clone();
        merge_properties(&mut schema, &mut json_schema!({ "type": "object" }));
        assert_eq!(schema, untouched);
    }
}
