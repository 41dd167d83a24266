//! Adds what Go prints of fields that are not set.

use serde_json::{Map, Value};

use super::{
    scalars,
    table::{GoStruct, GoType, Presence, Scalar},
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
        GoType::Pointer(_) | GoType::List(_) | GoType::Map(..) => Value::Null,
        GoType::Scalar(scalar, _) => scalars::zero(*scalar),
        GoType::Struct(inner) => blank(inner),
    }
}

fn structure(structure: &'static GoStruct, map: &mut Map<String, Value>) {
    for field in structure.fields() {
        match map.get_mut(field.name) {
            Some(value) => complete(&field.ty, value),
            None if field.presence == Presence::Always || is_struct(&field.ty, field.presence) => {
                map.insert(field.name.to_owned(), zero_of(&field.ty));
            }
            None => {}
        }
    }
}

/// Whether Go prints a field although it is empty, as it never finds a struct empty.
fn is_struct(ty: &GoType, presence: Presence) -> bool {
    const STRUCTS: [Scalar; 6] = [
        Scalar::Quantity,
        Scalar::Time,
        Scalar::MicroTime,
        Scalar::Duration,
        Scalar::IntOrString,
        Scalar::Raw,
    ];
    presence == Presence::Unempty
        && match ty {
            GoType::Struct(_) => true,
            GoType::Scalar(scalar, _) => STRUCTS.contains(scalar),
            _ => false,
        }
}

fn complete(ty: &'static GoType, value: &mut Value) {
    match (ty, value) {
        (GoType::Pointer(inner), value) => complete(inner, value),
        (GoType::Struct(inner), Value::Object(map)) => structure(inner, map),
        (GoType::List(item), Value::Array(list)) => list.iter_mut().for_each(|value| complete(item, value)),
        (GoType::Map(item, _), Value::Object(map)) => {
            map.values_mut().for_each(|value| complete(item, value))
        }
        _ => {}
    }
}
