//! Encodes the JSON of an object as Go encodes the object: fields by number, entries of maps by key, and single values that are no pointers always.

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Map, Value};

use super::{
    custom,
    table::{Cardinality, Field, Message, Shape, ValueType},
    wire::{put_bytes, put_double, put_number},
};

/// Encodes a message. `null` is Go's zero value.
pub(super) fn message(of: &'static Message, value: &Value) -> Result<Vec<u8>, String> {
    let mut out = Vec::new();
    match of.shape {
        Shape::Custom => custom::encode(of, value, &mut out)?,
        Shape::List => list(&of.fields[0], value, &mut out)?,
        Shape::Object | Shape::OneOf => {
            let members = match value {
                Value::Object(members) => Some(members),
                Value::Null => None,
                other => return Err(format!("{} is an object, not {other}", of.name)),
            };
            for field in &of.fields {
                let member = match field.inline {
                    true => Some(value),
                    false => members.and_then(|members| members.get(field.name)),
                };
                member_of(field, member.filter(|value| !value.is_null()), &mut out)
                    .map_err(|why| format!("{}: {why}", field.name))?;
            }
        }
    }
    Ok(out)
}

fn member_of(field: &'static Field, value: Option<&Value>, out: &mut Vec<u8>) -> Result<(), String> {
    match (field.cardinality, value) {
        (Cardinality::One, None) if field.pointer || is_nil(field.value) => Ok(()),
        (Cardinality::One, value) => one(field.number, field.value, value.unwrap_or(&Value::Null), out),
        (Cardinality::List | Cardinality::Map, None) => Ok(()),
        (Cardinality::List, Some(value)) => list(field, value, out),
        (Cardinality::Map, Some(Value::Object(members))) => map(field, members, out),
        (Cardinality::Map, Some(other)) => Err(format!("expected an object, not {other}")),
    }
}

/// Whether Go's zero value is nil, which is not encoded.
fn is_nil(value: ValueType) -> bool {
    match value {
        ValueType::Bytes => true,
        ValueType::Message(id) => id.get().shape == Shape::List,
        _ => false,
    }
}

/// Encodes a single value; `null` is Go's zero value.
pub(super) fn one(number: u32, of: ValueType, value: &Value, out: &mut Vec<u8>) -> Result<(), String> {
    let wrong = |expected: &str| format!("expected {expected}, not {value}");
    match of {
        ValueType::Text => {
            let text = if value.is_null() { "" } else { value.as_str().ok_or_else(|| wrong("a text"))? };
            put_bytes(out, number, text.as_bytes());
        }
        ValueType::Bool => {
            let set = !value.is_null() && value.as_bool().ok_or_else(|| wrong("a boolean"))?;
            put_number(out, number, set.into());
        }
        ValueType::Int => {
            let int = if value.is_null() { 0 } else { value.as_i64().ok_or_else(|| wrong("an integer"))? };
            put_number(out, number, int.cast_unsigned());
        }
        ValueType::Double => {
            let double =
                if value.is_null() { 0.0 } else { value.as_f64().ok_or_else(|| wrong("a number"))? };
            put_double(out, number, double);
        }
        ValueType::Bytes => {
            let text = if value.is_null() { "" } else { value.as_str().ok_or_else(|| wrong("base64"))? };
            let bytes = BASE64_STANDARD.decode(text).map_err(|_| wrong("base64"))?;
            put_bytes(out, number, &bytes);
        }
        ValueType::Message(id) => put_bytes(out, number, &message(id.get(), value)?),
    }
    Ok(())
}

fn list(field: &'static Field, value: &Value, out: &mut Vec<u8>) -> Result<(), String> {
    let items = match value {
        Value::Array(items) => items.as_slice(),
        Value::Null => &[],
        other => return Err(format!("expected a list, not {other}")),
    };
    items.iter().try_for_each(|item| one(field.number, field.value, item, out))
}

fn map(field: &'static Field, members: &Map<String, Value>, out: &mut Vec<u8>) -> Result<(), String> {
    let mut sorted: Vec<(&String, &Value)> = members.iter().collect();
    sorted.sort_by_key(|(name, _)| *name);
    for (name, value) in sorted {
        put_bytes(out, field.number, &entry(name, field.value, value)?);
    }
    Ok(())
}

/// An entry of a map. Go leaves out the value if it is nil.
fn entry(name: &str, of: ValueType, value: &Value) -> Result<Vec<u8>, String> {
    let mut out = Vec::new();
    put_bytes(&mut out, 1, name.as_bytes());
    if !(value.is_null() && of == ValueType::Bytes) {
        one(2, of, value, &mut out)?;
    }
    Ok(out)
}
