use serde_json::{Map, Value};

use super::{list, restore};
use crate::patch::PatchError;
use crate::schema::golang;
use crate::schema::model::Field;

const PATCH: &str = "$patch";
const RETAIN: &str = "$retainKeys";
const DELETE: &str = "$deleteFromPrimitiveList/";
const ORDER: &str = "$setElementOrder/";

/// The value of `$patch`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Directive {
    Merge,
    Replace,
    Delete,
}

/// Merges a patch into an object. `field` is its schema, if it has one.
pub(super) fn merge(
    field: Option<&Field>,
    target: &mut Map<String, Value>,
    patch: &Map<String, Value>,
) -> Result<(), PatchError> {
    match directive(patch)? {
        Some(Directive::Delete) => {
            target.clear();
            return Ok(());
        }
        Some(Directive::Replace) => {
            *target = new_members(patch);
            return Ok(());
        }
        Some(Directive::Merge) => return Err(unknown("merge", patch)),
        None => {}
    }
    retain(target, patch)?;
    for (name, value) in patch {
        if let Some(list) = name.strip_prefix(DELETE) {
            list::delete_primitives(target.get_mut(list), value)?;
        }
    }
    for (name, value) in patch.iter().filter(|(name, _)| !name.starts_with('$')) {
        let inner = member(field, name);
        let order = patch.get(&format!("{ORDER}{name}"));
        match (target.get_mut(name), value) {
            (_, Value::Null) => drop(target.remove(name)),
            (Some(Value::Object(old)), Value::Object(new)) => merge(inner, old, new)?,
            (Some(Value::Array(old)), Value::Array(new)) if list::merges(inner) => {
                list::merge(inner, old, new, order)?;
            }
            _ => {
                restore::check(inner, value)?;
                target.insert(name.clone(), new_value(value));
            }
        }
    }
    for (name, order) in patch {
        let Some(list) = name.strip_prefix(ORDER).filter(|list| !patch.contains_key(*list)) else { continue };
        if let (Some(Value::Array(old)), inner) = (target.get_mut(list), member(field, list)) {
            list::merge(inner, old, &[], Some(order))?;
        }
    }
    Ok(())
}

/// The directive of a map. `merge` is valid in list elements only.
pub(super) fn directive(patch: &Map<String, Value>) -> Result<Option<Directive>, PatchError> {
    match patch.get(PATCH) {
        None => Ok(None),
        Some(Value::String(text)) => match text.as_str() {
            "replace" => Ok(Some(Directive::Replace)),
            "delete" => Ok(Some(Directive::Delete)),
            "merge" => Ok(Some(Directive::Merge)),
            other => Err(unknown(other, patch)),
        },
        Some(other) => Err(unknown(&golang::plain(other), patch)),
    }
}

fn unknown(directive: &str, patch: &Map<String, Value>) -> PatchError {
    let map = golang::plain(&Value::Object(patch.clone()));
    PatchError::Failed(format!("unknown patch type: {directive} in map: {map}"))
}

fn retain(target: &mut Map<String, Value>, patch: &Map<String, Value>) -> Result<(), PatchError> {
    let Some(keys) = patch.get(RETAIN) else { return Ok(()) };
    let bad = || PatchError::Malformed("invalid patch format of retainKeys".into());
    let keys = keys.as_array().ok_or_else(bad)?;
    let named = |name: &str| keys.iter().any(|key| key == name);
    if patch.keys().any(|name| !name.starts_with('$') && !named(name)) {
        return Err(bad());
    }
    target.retain(|name, _| named(name));
    Ok(())
}

fn member<'s>(field: Option<&'s Field>, name: &str) -> Option<&'s Field> {
    let node = field?.node();
    node.properties.get(name).or(node.additional.as_deref())
}

/// A new value, without directives and nulls.
pub(super) fn new_value(value: &Value) -> Value {
    match value {
        Value::Object(map) => Value::Object(new_members(map)),
        Value::Array(list) => Value::Array(list.iter().map(new_value).collect()),
        other => other.clone(),
    }
}

fn new_members(map: &Map<String, Value>) -> Map<String, Value> {
    let keep = map.iter().filter(|(name, value)| !name.starts_with('$') && !value.is_null());
    keep.map(|(name, value)| (name.clone(), new_value(value))).collect()
}
