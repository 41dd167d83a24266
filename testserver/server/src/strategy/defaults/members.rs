//! Members of objects that may be missing: how defaults set and visit them.

use serde_json::Value;

/// Sets a member that is missing, null or empty.
pub(super) fn fill(object: &mut Value, member: &str, value: impl Into<Value>) {
    let Some(map) = object.as_object_mut() else { return };
    let missing = map.get(member).is_none_or(|there| there.is_null() || there == "");
    let value = value.into();
    if missing && !value.is_null() {
        map.insert(member.into(), value);
    }
}

/// Sets a member behind a pointer, which is only missing if it is null.
pub(super) fn set(object: &mut Value, member: &str, value: impl Into<Value>) {
    if object[member].is_null() {
        fill(object, member, value);
    }
}

pub(super) fn items<'o>(object: &'o mut Value, list: &str) -> impl Iterator<Item = &'o mut Value> {
    let items = object.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten();
    items.filter(|item| item.is_object())
}

pub(super) fn each(object: &mut Value, pointer: &str, fill: impl Fn(&mut Value)) {
    if let Some(inner) = object.pointer_mut(pointer).filter(|inner| inner.is_object()) {
        fill(inner);
    }
}
