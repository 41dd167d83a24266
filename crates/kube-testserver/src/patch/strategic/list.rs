use serde_json::{Map, Value};

use super::map::{self, Directive, new_value};
use super::{order, restore};
use crate::patch::PatchError;
use crate::schema::golang;
use crate::schema::model::Field;

/// Whether the list is merged, not replaced.
pub(super) fn merges(field: Option<&Field>) -> bool {
    field.and_then(Field::strategy).is_some_and(|strategy| strategy.merge)
}

/// Merges a patch into a list element by element, and orders it.
pub(super) fn merge(
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
        Some(key) => match elements(field, target, patch, key)? {
            Some(named) => named,
            None => return Ok(()),
        },
        None => {
            primitives(target, patch);
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
pub(super) fn delete_primitives(target: Option<&mut Value>, values: &Value) -> Result<(), PatchError> {
    let Value::Array(values) = values else {
        return Err(restore::no_list(values));
    };
    if let Some(Value::Array(list)) = target {
        list.retain(|value| !values.contains(value));
    }
    Ok(())
}

fn primitives(target: &mut Vec<Value>, patch: &[Value]) {
    for value in patch {
        if !target.contains(value) {
            target.push(value.clone());
        }
    }
}

/// Merges elements by key. Returns the elements that the patch names and does not delete; `None` if it replaced the list.
fn elements(
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
        changes.push((map, map::directive(map)?));
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
        let wanted = map.get(key).ok_or_else(|| no_key(map, key))?;
        if directive == Some(Directive::Delete) {
            target.retain(|element| element.get(key) != Some(wanted));
            continue;
        }
        named.push(Value::Object(map.clone()));
        match target.iter_mut().find(|element| element.get(key) == Some(wanted)) {
            Some(Value::Object(old)) => map::merge(field.and_then(|f| f.node().items.as_deref()), old, map)?,
            _ => target.push(new_value(&Value::Object(map.clone()))),
        }
    }
    Ok(Some(named))
}

fn no_key(element: &Map<String, Value>, key: &str) -> PatchError {
    let map = golang::plain(&Value::Object(element.clone()));
    PatchError::Failed(format!("map: {map} does not contain declared merge key: {key}"))
}
