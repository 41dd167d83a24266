//! Rules and merge strategies put onto a schema.

use schemars::Schema;
use serde::ser::Error as _;
use serde_json::{Error, Map, Result, Value, json};

use super::{ListMerge, MergeStrategy, Rule};

const RULES: &str = "x-kubernetes-validations";

/// Adds a rule to the schema itself, after those it has.
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
/// When the schema has something else than a list of rules under `x-kubernetes-validations`.
pub fn validate(s: &mut Schema, rule: impl Into<Rule>) -> Result<()> {
    add_rule(s.ensure_object(), &rule.into())
}

/// Adds a rule to one property, counted from 0 in the order in which the schema lists them
/// (alphabetical, unless serde_json's feature `preserve_order` is on).
///
/// # Errors
///
/// When there is no such property.
pub fn validate_property(s: &mut Schema, property_index: usize, rule: impl Into<Rule> + Clone) -> Result<()> {
    validate(property(s, property_index)?, rule)
}

/// Says on one property (counted as in [`validate_property`]) how server-side apply merges it.
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

/// Says on the schema `s` how server-side apply merges a value of it.
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
/// When `s` is not an object.
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
            if let Value::Object(marker) = serde_json::to_value(plain)? {
                node.extend(marker);
            }
        }
    }
    Ok(())
}

/// Brings the properties of `merge` into `s`: what a property of `merge` says replaces what the same property of `s` says,
/// the rest of it stays. `merge` is left as it is.
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
