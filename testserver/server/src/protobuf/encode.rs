//! Encodes the JSON of an object as Go encodes the object: fields by number, entries of maps by key, and single values that are no
//! pointers always.

use base64::{Engine, prelude::BASE64_STANDARD};
use jiff::Timestamp;
use serde_json::Value;

use super::wire::{put_bytes, put_double, put_number};
use crate::gotypes::{GoStruct, GoType, Presence, Scalar};

const DECIMALS: i32 = 1000;

/// Encodes a message. `null` is Go's zero value.
pub(super) fn message(of: &'static GoStruct, value: &Value) -> Result<Vec<u8>, String> {
    let members = match value {
        Value::Object(members) => Some(members),
        Value::Null => None,
        other => return Err(format!("{} is an object, not {other}", of.name)),
    };
    let mut out = Vec::new();
    for field in of.members() {
        let member = match field.presence {
            Presence::Inline => value,
            _ => members.and_then(|members| members.get(field.name)).unwrap_or(&Value::Null),
        };
        if !(member.is_null() && is_nil(&field.ty)) {
            put(field.number, &field.ty, member, &mut out).map_err(|why| format!("{}: {why}", field.name))?;
        }
    }
    Ok(out)
}

/// Whether Go's zero value is nil, which is not encoded.
fn is_nil(ty: &GoType) -> bool {
    match ty {
        GoType::Pointer(_) | GoType::List(_) | GoType::Items(_) | GoType::Map(..) => true,
        GoType::Scalar(scalar, _) => *scalar == Scalar::Bytes,
        GoType::Struct(_) | GoType::SchemaOr(_) => false,
    }
}

/// Encodes a value, each item of a list and each entry of a map; `null` is Go's zero value.
pub(super) fn put(number: u32, ty: &'static GoType, value: &Value, out: &mut Vec<u8>) -> Result<(), String> {
    match ty {
        GoType::Pointer(inner) => put(number, inner, value, out),
        GoType::List(item) => list(number, item, value, out),
        GoType::Items(item) => nested(number, out, |inner| list(1, item, value, inner)),
        GoType::Map(item, _) => map(number, item, value, out),
        GoType::Struct(structure) => {
            put_bytes(out, number, &message(structure, value)?);
            Ok(())
        }
        GoType::SchemaOr(cases) => nested(number, out, |inner| schema_or(cases, value, inner)),
        GoType::Scalar(scalar, _) => match scalar {
            Scalar::Quantity => nested(number, out, |inner| quantity(value, inner)),
            Scalar::Time | Scalar::MicroTime => {
                nested(number, out, |inner| time(value, *scalar == Scalar::MicroTime, inner))
            }
            Scalar::IntOrString => nested(number, out, |inner| int_or_string(value, inner)),
            Scalar::Raw => nested(number, out, |inner| {
                if !value.is_null() {
                    put_bytes(inner, 1, value.to_string().as_bytes());
                }
                Ok(())
            }),
            _ => plain(number, *scalar, value, out),
        },
    }
}

fn nested(
    number: u32,
    out: &mut Vec<u8>,
    encode: impl FnOnce(&mut Vec<u8>) -> Result<(), String>,
) -> Result<(), String> {
    let mut inner = Vec::new();
    encode(&mut inner)?;
    put_bytes(out, number, &inner);
    Ok(())
}

fn list(number: u32, item: &'static GoType, value: &Value, out: &mut Vec<u8>) -> Result<(), String> {
    match value {
        Value::Array(items) => items.iter().try_for_each(|value| put(number, item, value, out)),
        Value::Null => Ok(()),
        other => Err(format!("expected a list, not {other}")),
    }
}

fn map(number: u32, item: &'static GoType, value: &Value, out: &mut Vec<u8>) -> Result<(), String> {
    let mut members: Vec<(&String, &Value)> = match value {
        Value::Object(members) => members.iter().collect(),
        Value::Null => Vec::new(),
        other => return Err(format!("expected an object, not {other}")),
    };
    members.sort_by_key(|(name, _)| *name);
    for (name, value) in members {
        nested(number, out, |entry| {
            put_bytes(entry, 1, name.as_bytes());
            let is_left_out = value.is_null() && matches!(item, GoType::Scalar(Scalar::Bytes, _));
            if is_left_out { Ok(()) } else { put(2, item, value, entry) }
        })?;
    }
    Ok(())
}

/// A scalar that is no message.
fn plain(number: u32, scalar: Scalar, value: &Value, out: &mut Vec<u8>) -> Result<(), String> {
    let wrong = |expected: &str| format!("expected {expected}, not {value}");
    let zero = value.is_null();
    match scalar {
        Scalar::Bool => {
            let set = !zero && value.as_bool().ok_or_else(|| wrong("a boolean"))?;
            put_number(out, number, set.into());
        }
        Scalar::Uint8 | Scalar::Int32 | Scalar::Int64 => {
            let int = if zero { 0 } else { value.as_i64().ok_or_else(|| wrong("an integer"))? };
            put_number(out, number, int.cast_unsigned());
        }
        Scalar::Float => {
            let float = if zero { 0.0 } else { value.as_f64().ok_or_else(|| wrong("a number"))? };
            put_double(out, number, float);
        }
        Scalar::Bytes => {
            let text = if zero { "" } else { value.as_str().ok_or_else(|| wrong("base64"))? };
            put_bytes(out, number, &BASE64_STANDARD.decode(text).map_err(|_| wrong("base64"))?);
        }
        _ => {
            let text = if zero { "" } else { value.as_str().ok_or_else(|| wrong("a text"))? };
            put_bytes(out, number, text.as_bytes());
        }
    }
    Ok(())
}

/// A schema or something else, by the fields of the union.
fn schema_or(cases: &'static GoStruct, value: &Value, out: &mut Vec<u8>) -> Result<(), String> {
    let fields = cases.members();
    let mut field = |at: usize, value: &Value| put(fields[at].number, &fields[at].ty, value, out);
    match (&fields[0].ty, value) {
        (_, Value::Null) => Ok(()),
        (GoType::Scalar(..), Value::Bool(_)) => field(0, value),
        // A schema allows what it describes.
        (GoType::Scalar(..), schema) => field(0, &true.into()).and_then(|()| field(1, schema)),
        (_, Value::Array(_)) => field(1, value),
        (_, schema) => field(0, schema),
    }
}

/// Numbers are quantities too.
fn quantity(value: &Value, out: &mut Vec<u8>) -> Result<(), String> {
    match value {
        Value::Null => plain(1, Scalar::String, &"0".into(), out),
        Value::Number(number) => plain(1, Scalar::String, &number.to_string().into(), out),
        text => plain(1, Scalar::String, text, out),
    }
}

fn int_or_string(value: &Value, out: &mut Vec<u8>) -> Result<(), String> {
    let (number, text) = if value.is_string() { (&Value::Null, value) } else { (value, &Value::Null) };
    put_number(out, 1, value.is_string().into());
    plain(2, Scalar::Int32, number, out)?;
    plain(3, Scalar::String, text, out)
}

fn time(value: &Value, micro: bool, out: &mut Vec<u8>) -> Result<(), String> {
    if value.is_null() {
        return Ok(());
    }
    let time = value.as_str().and_then(|text| text.parse::<Timestamp>().ok());
    let time = time.ok_or_else(|| format!("expected a time, not {value}"))?;
    let nanos = time.subsec_nanosecond() / DECIMALS * DECIMALS;
    // A time before 1970 counts back from the second after it in jiff, forward from the second before it in Go.
    let (seconds, nanos) = match time.as_second() {
        seconds if nanos < 0 => (seconds - 1, nanos + 1_000_000_000),
        seconds => (seconds, nanos),
    };
    put_number(out, 1, seconds.cast_unsigned());
    put_number(out, 2, if micro { i64::from(nanos).cast_unsigned() } else { 0 });
    Ok(())
}
