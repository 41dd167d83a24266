//! Decodes a message into the JSON that Go prints of it.

use std::borrow::Cow;

use base64::{Engine, prelude::BASE64_STANDARD};
use jiff::{Timestamp, fmt::strtime};
use serde_json::{Map, Number, Value};

use super::{
    parts,
    wire::{Reader, WireValue},
};
use crate::gotypes::{GoField, GoStruct, GoType, Presence, Scalar};

/// Deeper than any schema in a definition.
pub(super) const MAX_DEPTH: usize = 128;

/// A value as Go has it.
pub(super) struct Decoded {
    pub(super) json: Value,
    /// Go's zero value.
    pub(super) zero: bool,
}

/// Decodes a message. Unknown fields are skipped, of repeated single fields the last one counts, and messages are merged.
pub(super) fn message(of: &'static GoStruct, bytes: &[u8], depth: usize) -> Result<Decoded, String> {
    let depth = deeper(depth)?;
    let values = collect(of.members(), bytes)?;
    let (mut out, mut zero) = (Map::new(), true);
    for (field, values) in of.members().iter().zip(&values) {
        zero &= member(&mut out, field, values, depth)?;
    }
    Ok(Decoded { json: Value::Object(out), zero })
}

fn deeper(depth: usize) -> Result<usize, String> {
    depth.checked_sub(1).ok_or_else(|| "the message is nested too deeply".to_owned())
}

/// The values of each field of a message.
fn collect<'a>(fields: &[GoField], bytes: &'a [u8]) -> Result<Vec<Vec<WireValue<'a>>>, String> {
    let mut values: Vec<Vec<WireValue<'a>>> = fields.iter().map(|_| Vec::new()).collect();
    for read in Reader(bytes) {
        let (number, wire) = read?;
        let Ok(at) = fields.binary_search_by_key(&number, |field| field.number) else { continue };
        let packed = matches!(fields[at].ty, GoType::List(_)) && wire.wire_type() == 2;
        if wire.wire_type() != wire_type(&fields[at].ty) && !packed {
            let (actual, name) = (wire.wire_type(), fields[at].name);
            return Err(format!("proto: wrong wireType = {actual} for field {name}"));
        }
        values[at].push(wire);
    }
    Ok(values)
}

fn wire_type(ty: &GoType) -> u32 {
    match ty {
        GoType::Pointer(inner) | GoType::List(inner) => wire_type(inner),
        GoType::Scalar(Scalar::Float, _) => 1,
        GoType::Scalar(Scalar::Bool | Scalar::Uint8 | Scalar::Int32 | Scalar::Int64, _) => 0,
        _ => 2,
    }
}

/// Adds a field to the JSON of its message, unless Go leaves it out. Returns whether Go has its zero value.
fn member(
    out: &mut Map<String, Value>,
    field: &'static GoField,
    values: &[WireValue<'_>],
    depth: usize,
) -> Result<bool, String> {
    let Decoded { json, zero } = value(&field.ty, values, depth)?;
    match (field.presence, json) {
        (Presence::Inline, Value::Object(members)) => out.extend(members),
        (Presence::Unzero, _) if zero => {}
        (Presence::Unempty, _) if zero && !field.ty.is_struct() => {}
        (_, json) => drop(out.insert(field.name.into(), json)),
    }
    Ok(zero)
}

/// A value; the zero value if there is none.
fn value(ty: &'static GoType, values: &[WireValue<'_>], depth: usize) -> Result<Decoded, String> {
    match ty {
        GoType::Pointer(_) if values.is_empty() => Ok(Decoded { json: Value::Null, zero: true }),
        GoType::Pointer(inner) => Ok(Decoded { zero: false, ..value(inner, values, depth)? }),
        GoType::List(item) => list(item, values, depth),
        GoType::Items(item) => list(item, &collect(&[parts::items(item)], &whole(values))?[0], depth),
        GoType::Map(item, _) => map(item, values, depth),
        GoType::Struct(structure) => message(structure, &whole(values), depth),
        GoType::SchemaOr(cases) => schema_or(cases, &whole(values), depth),
        GoType::Scalar(scalar, _) => match scalar {
            Scalar::Quantity => quantity(&whole(values)),
            Scalar::Time | Scalar::MicroTime => time(&whole(values), *scalar == Scalar::MicroTime),
            Scalar::IntOrString => int_or_string(&whole(values)),
            Scalar::Raw => raw(&whole(values)),
            _ => plain(*scalar, values.last().copied()),
        },
    }
}

/// The bytes of a message: one in parts is the message of all their bytes.
fn whole<'a>(values: &[WireValue<'a>]) -> Cow<'a, [u8]> {
    match values {
        [] => Cow::Borrowed(&[]),
        [one] => Cow::Borrowed(one.bytes()),
        parts => parts.iter().flat_map(|part| part.bytes().iter().copied()).collect(),
    }
}

fn list(item: &'static GoType, values: &[WireValue<'_>], depth: usize) -> Result<Decoded, String> {
    let is_packable = wire_type(item) == 0;
    let mut items = Vec::with_capacity(values.len());
    for wire in values {
        match wire {
            WireValue::Bytes(packed) if is_packable => {
                let mut reader = Reader(packed);
                while !reader.0.is_empty() {
                    items.push(value(item, &[WireValue::Number(reader.number()?)], depth)?.json);
                }
            }
            _ => items.push(value(item, &[*wire], depth)?.json),
        }
    }
    let zero = items.is_empty();
    // Go prints a slice without a value as null.
    Ok(Decoded { json: if zero { Value::Null } else { items.into() }, zero })
}

fn map(item: &'static GoType, values: &[WireValue<'_>], depth: usize) -> Result<Decoded, String> {
    let mut members = Map::new();
    for entry in values {
        let (mut name, mut last) = (String::new(), None);
        for read in Reader(entry.bytes()) {
            match read? {
                (1, WireValue::Bytes(bytes)) => name = String::from_utf8_lossy(bytes).into(),
                (2, wire) => last = Some(wire),
                _ => {}
            }
        }
        members.insert(name, value(item, last.as_slice(), depth)?.json);
    }
    let zero = members.is_empty();
    Ok(Decoded { json: if zero { Value::Null } else { members.into() }, zero })
}

/// A scalar that is no message.
fn plain(scalar: Scalar, wire: Option<WireValue<'_>>) -> Result<Decoded, String> {
    let number = match wire {
        Some(WireValue::Number(number) | WireValue::Fixed(number)) => number,
        _ => 0,
    };
    let bytes = wire.map(WireValue::bytes).unwrap_or_default();
    Ok(match scalar {
        Scalar::Bool => Decoded { json: (number != 0).into(), zero: number == 0 },
        Scalar::Uint8 | Scalar::Int32 | Scalar::Int64 => {
            Decoded { json: number.cast_signed().into(), zero: number == 0 }
        }
        Scalar::Float => {
            let number = f64::from_bits(number);
            Decoded { json: float(number)?, zero: number == 0.0 }
        }
        Scalar::Bytes if wire.is_none() => Decoded { json: Value::Null, zero: true },
        Scalar::Bytes => Decoded { json: BASE64_STANDARD.encode(bytes).into(), zero: bytes.is_empty() },
        _ => Decoded { json: String::from_utf8_lossy(bytes).into(), zero: bytes.is_empty() },
    })
}

/// Go prints whole floats without a fraction.
fn float(number: f64) -> Result<Value, String> {
    let whole = number.fract() == 0.0 && number.abs() < 1e15;
    let json = if whole { format!("{number:.0}").parse().ok() } else { Number::from_f64(number) };
    json.map(Value::Number).ok_or_else(|| format!("json: unsupported value: {number}"))
}

/// A schema or something else, by the fields of the union.
fn schema_or(cases: &'static GoStruct, bytes: &[u8], depth: usize) -> Result<Decoded, String> {
    let (depth, fields) = (deeper(depth)?, cases.members());
    let values = collect(fields, bytes)?;
    let zero = values.iter().all(Vec::is_empty);
    // A second field, the list or the schema beside a bool, counts more than the first.
    let at = usize::from(!values[1].is_empty());
    Ok(Decoded { json: value(&fields[at].ty, &values[at], depth)?.json, zero })
}

fn quantity(bytes: &[u8]) -> Result<Decoded, String> {
    let values = collect(parts::QUANTITY, bytes)?;
    match values[0].last() {
        None => Ok(Decoded { json: "0".into(), zero: true }),
        text => Ok(Decoded { zero: false, ..plain(Scalar::String, text.copied())? }),
    }
}

fn int_or_string(bytes: &[u8]) -> Result<Decoded, String> {
    let values = collect(parts::INT_OR_STRING, bytes)?;
    let is_text = integer(&values[0]) != 0;
    let number = plain(Scalar::Int32, values[1].last().copied())?;
    let text = plain(Scalar::String, values[2].last().copied())?;
    Ok(if is_text {
        Decoded { json: text.json, zero: false }
    } else {
        Decoded { zero: number.zero && text.zero, ..number }
    })
}

fn raw(bytes: &[u8]) -> Result<Decoded, String> {
    let values = collect(parts::RAW, bytes)?;
    let json = match values[0].last().map_or(&[][..], |raw| raw.bytes()) {
        [] => Value::Null,
        raw => serde_json::from_slice(raw).map_err(|why| format!("embedded JSON: {why}"))?,
    };
    Ok(Decoded { json, zero: values[0].is_empty() })
}

fn time(bytes: &[u8], micro: bool) -> Result<Decoded, String> {
    let values = collect(parts::TIME, bytes)?;
    if values.iter().all(Vec::is_empty) {
        return Ok(Decoded { json: Value::Null, zero: true });
    }
    let (seconds, nanos) = (integer(&values[0]), integer(&values[1]));
    let bad = |why: jiff::Error| format!("the time {seconds}.{nanos:09}: {why}");
    let nanos = if micro { i32::try_from(nanos).unwrap_or(0) } else { 0 };
    let time = Timestamp::new(seconds, nanos).map_err(bad)?;
    let format = if micro { "%Y-%m-%dT%H:%M:%S.%6fZ" } else { "%Y-%m-%dT%H:%M:%SZ" };
    Ok(Decoded { json: strtime::format(format, time).map_err(bad)?.into(), zero: false })
}

/// The last of the numbers of a field.
fn integer(values: &[WireValue<'_>]) -> i64 {
    match values.last() {
        Some(WireValue::Number(number)) => number.cast_signed(),
        _ => 0,
    }
}

impl<'a> WireValue<'a> {
    /// The bytes of a text or message.
    pub(super) fn bytes(self) -> &'a [u8] {
        match self {
            Self::Bytes(bytes) => bytes,
            _ => &[],
        }
    }
}
