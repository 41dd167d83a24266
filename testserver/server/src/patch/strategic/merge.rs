//! Merges maps and lists, which contain each other.

use serde_json::{Map, Value};

use super::{order, restore};
use crate::{
    patch::PatchError,
    schema::{golang, model::Field},
};

const PATCH: &str = "$patch";
const RETAIN: &str = "$retainKeys";
const DELETE: &str = "$deleteFromPrimitiveList/";
const ORDER: &str = "$setElementOrder/";

/// The value of `$patch`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Directive {
    Merge,
    Replace,
    Delete,
}

/// Merges a patch into an object. `field` is its schema, if it has one.
pub(super) fn merge_map(
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
            delete_primitives(target.get_mut(list), value);
        }
    }
    for (name, value) in patch.iter().filter(|(name, _)| !name.starts_with('$')) {
        let inner = member(field, name);
        let order = patch.get(&format!("{ORDER}{name}"));
        match (target.get_mut(name), value) {
            (_, Value::Null) => drop(target.remove(name)),
            (Some(Value::Object(old)), Value::Object(new)) => merge_map(inner, old, new)?,
            (Some(Value::Array(old)), Value::Array(new)) if merges(inner) => {
                merge_list(inner, old, new, order)?;
            }
            _ => {
                restore::check(inner, value)?;
                match is_deleted(value) {
                    true => drop(target.remove(name)),
                    false => drop(target.insert(name.clone(), new_value(value))),
                }
            }
        }
    }
    for (name, order) in patch {
        let Some(list) = name.strip_prefix(ORDER).filter(|list| !patch.contains_key(*list)) else { continue };
        if let (Some(Value::Array(old)), inner) = (target.get_mut(list), member(field, list)) {
            merge_list(inner, old, &[], Some(order))?;
        }
    }
    Ok(())
}

/// The directive of a map. `merge` is valid in list elements only.
fn directive(patch: &Map<String, Value>) -> Result<Option<Directive>, PatchError> {
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

/// A new value, without directives, elements with directives, and nulls.
fn new_value(value: &Value) -> Value {
    match value {
        Value::Object(map) => Value::Object(new_members(map)),
        Value::Array(list) => {
            list.iter().filter(|element| element.get(PATCH).is_none()).map(new_value).collect()
        }
        other => other.clone(),
    }
}

fn new_members(map: &Map<String, Value>) -> Map<String, Value> {
    let is_kept =
        |name: &str, value: &Value| !name.starts_with('$') && !value.is_null() && !is_deleted(value);
    let keep = map.iter().filter(|(name, value)| is_kept(name, value));
    keep.map(|(name, value)| (name.clone(), new_value(value))).collect()
}

/// Whether a new map is deleted at once.
fn is_deleted(value: &Value) -> bool {
    value.get(PATCH).is_some_and(|directive| directive == "delete")
}

/// Whether the list is merged, not replaced.
fn merges(field: Option<&Field>) -> bool {
    field.and_then(Field::strategy).is_some_and(|strategy| strategy.merge)
}

/// Merges a patch into a list, element by element, and orders it.
fn merge_list(
    field: Option<&Field>,
    target: &mut Vec<Value>,
    patch: &[Value],
    order: Option<&Value>,
) -> Result<(), PatchError> {
    let order = match order {
        None => None,
        Some(Value::Array(order)) => Some(order.as_slice()),
        Some(other) => {
            let got = golang::type_name(other);
            return Err(PatchError::Failed(format!("expected a []interface {{}}, but received a {got}")));
        }
    };
    let key = field.and_then(Field::strategy).and_then(|strategy| strategy.merge_key.as_deref());
    let before = target.clone();
    let named = match key {
        Some(key) => match merge_elements(field, target, patch, key)? {
            Some(named) => named,
            None => return Ok(()),
        },
        None => {
            merge_primitives(target, patch);
            patch.to_vec()
        }
    };
    if let Some(order) = order {
        order::check(&named, order, key)?;
    }
    order::arrange(target, &before, order.unwrap_or(&named), key);
    Ok(())
}

/// Removes these values from a list of primitives.
fn delete_primitives(target: Option<&mut Value>, values: &Value) {
    if let (Some(Value::Array(list)), Value::Array(values)) = (target, values) {
        list.retain(|value| !values.contains(value));
    }
}

fn merge_primitives(target: &mut Vec<Value>, patch: &[Value]) {
    for value in patch {
        if !target.contains(value) {
            target.push(value.clone());
        }
    }
}

/// Merges elements by key. Returns the elements that the patch names and does not delete; `None` if it replaced the list.
fn merge_elements(
    field: Option<&Field>,
    target: &mut Vec<Value>,
    patch: &[Value],
    key: &str,
) -> Result<Option<Vec<Value>>, PatchError> {
    let mut changes = Vec::with_capacity(patch.len());
    for element in patch {
        let Value::Object(map) = element else {
            let kinds = "list element types are not identical";
            return Err(PatchError::Failed(format!(
                "{kinds}: {}",
                golang::plain(&Value::from(patch.to_vec()))
            )));
        };
        changes.push((map, directive(map)?));
    }
    if changes.iter().any(|(_, directive)| *directive == Some(Directive::Merge)) {
        return Err(PatchError::Failed("merging lists cannot yet be specified in the patch".into()));
    }
    if changes.iter().any(|(_, directive)| *directive == Some(Directive::Replace)) {
        let plain = changes.iter().filter(|(_, directive)| directive.is_none());
        *target = plain.map(|(map, _)| new_value(&Value::Object((*map).clone()))).collect();
        return Ok(None);
    }
    let mut named = Vec::new();
    for (map, directive) in changes {
        let key_value = map.get(key).ok_or_else(|| no_key(map, key))?;
        if directive == Some(Directive::Delete) {
            target.retain(|element| element.get(key) != Some(key_value));
            continue;
        }
        named.push(Value::Object(map.clone()));
        match target.iter_mut().find(|element| element.get(key) == Some(key_value)) {
            Some(Value::Object(old)) => merge_map(field.and_then(|f| f.node().items.as_deref()), old, map)?,
            _ => target.push(new_value(&Value::Object(map.clone()))),
        }
    }
    Ok(Some(named))
}

fn no_key(element: &Map<String, Value>, key: &str) -> PatchError {
    let map = golang::plain(&Value::Object(element.clone()));
    PatchError::Failed(format!("map: {map} does not contain declared merge key: {key}"))
}
