//! Adds what Go prints of fields that are not set.

use serde_json::{Map, Value};

use super::{
    scalars,
    table::{GoField, GoStruct, GoType, Presence},
};

/// Completes a decoded object: required fields have their zero value, and structs that are held by value are there.
pub(crate) fn encode(root: &'static GoStruct, object: &mut Value) {
    if let Value::Object(map) = object {
        structure(root, map);
    }
}

/// An object of a kind of which nothing is set.
pub(crate) fn blank(root: &'static GoStruct) -> Value {
    let mut map = Map::new();
    structure(root, &mut map);
    map.into()
}

/// What Go prints of a variable that was never set.
pub(super) fn zero_of(ty: &'static GoType) -> Value {
    match ty {
        GoType::Scalar(scalar, _) => scalars::zero(*scalar),
        GoType::Struct(inner) => blank(inner),
        _ => Value::Null,
    }
}

fn structure(structure: &'static GoStruct, map: &mut Map<String, Value>) {
    for field in structure.fields() {
        match map.get_mut(field.name) {
            Some(value) => complete(&field.ty, value),
            None if is_always_printed(field) => {
                map.insert(field.name.to_owned(), zero_of(&field.ty));
            }
            None => {}
        }
    }
}

/// Whether Go prints a field although it is empty.
fn is_always_printed(field: &GoField) -> bool {
    let printed = match field.presence {
        Presence::Always => true,
        Presence::Unempty => field.ty.is_struct(),
        _ => false,
    };
    printed && !field.off
}

fn complete(ty: &'static GoType, value: &mut Value) {
    match (ty, value) {
        (GoType::Pointer(inner), value) => complete(inner, value),
        (GoType::Struct(inner), Value::Object(map)) => structure(inner, map),
        (GoType::List(item) | GoType::Items(item), Value::Array(list)) => {
            list.iter_mut().for_each(|value| complete(item, value))
        }
        (GoType::Map(item, _), Value::Object(map)) => {
            map.values_mut().for_each(|value| complete(item, value))
        }
        _ => {}
    }
}
