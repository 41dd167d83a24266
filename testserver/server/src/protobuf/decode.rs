//! Decodes a message into the JSON that Go prints of it.

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Map, Number, Value};

use super::{
    custom,
    table::{Cardinality, Field, Message, Shape, ValueType},
    wire::{Reader, WireValue},
};

/// Deeper than any schema in a definition.
pub(super) const MAX_DEPTH: usize = 128;

/// A value as Go has it.
pub(super) struct Decoded {
    pub(super) json: Value,
    /// Go's zero value.
    pub(super) zero: bool,
}

/// Decodes a message. Unknown fields are skipped, of repeated single fields the last one counts, and messages are merged.
pub(super) fn message(of: &'static Message, bytes: &[u8], depth: usize) -> Result<Decoded, String> {
    let depth = depth.checked_sub(1).ok_or("the message is nested too deeply")?;
    let values = collect(of, bytes)?;
    match of.shape {
        Shape::Custom => custom::decode(of, &values, depth),
        Shape::List => list(&of.fields[0], &values[0], depth),
        Shape::Object | Shape::OneOf => {
            let (mut out, mut zero) = (Map::new(), true);
            for (field, values) in of.fields.iter().zip(&values) {
                zero &= member(&mut out, field, values, depth)?;
            }
            Ok(Decoded { json: Value::Object(out), zero })
        }
    }
}

/// The values of each field of a message.
fn collect<'a>(of: &Message, bytes: &'a [u8]) -> Result<Vec<Vec<WireValue<'a>>>, String> {
    let mut values: Vec<Vec<WireValue<'a>>> = of.fields.iter().map(|_| Vec::new()).collect();
    for read in Reader(bytes) {
        let (number, wire) = read?;
        let Some((at, field)) = of.field(number) else { continue };
        let packed = field.cardinality == Cardinality::List && wire.wire_type() == 2;
        if wire.wire_type() != field.wire_type() && !packed {
            let (found, name) = (wire.wire_type(), field.name);
            return Err(format!("proto: wrong wireType = {found} for field {name}"));
        }
        values[at].push(wire);
    }
    Ok(values)
}

impl Field {
    fn wire_type(&self) -> u32 {
        match (self.cardinality, self.value) {
            (Cardinality::Map, _) | (_, ValueType::Text | ValueType::Bytes | ValueType::Message(_)) => 2,
            (_, ValueType::Double) => 1,
            (_, ValueType::Bool | ValueType::Int) => 0,
        }
    }
}

/// Adds a field to the JSON of its message, unless Go leaves it out. Returns whether Go has its zero value.
fn member(
    out: &mut Map<String, Value>,
    field: &'static Field,
    values: &[WireValue<'_>],
    depth: usize,
) -> Result<bool, String> {
    let found = match field.cardinality {
        Cardinality::List => list(field, values, depth)?,
        Cardinality::Map => map(field, values, depth)?,
        Cardinality::One if field.pointer && values.is_empty() => Decoded { json: Value::Null, zero: true },
        Cardinality::One => one(field.value, values, depth)?,
    };
    let zero = found.zero && (!field.pointer || values.is_empty());
    match found.json {
        Value::Object(members) if field.inline => out.extend(members),
        _ if zero && (field.omit_zero || field.omit_empty && may_be_empty(field)) => {}
        json => drop(out.insert(field.name.into(), json)),
    }
    Ok(zero)
}

/// Whether `omitempty` applies to a field: structs are never empty.
fn may_be_empty(field: &Field) -> bool {
    match field.value {
        ValueType::Message(id) => {
            field.pointer || field.cardinality != Cardinality::One || id.get().shape == Shape::List
        }
        _ => true,
    }
}

/// A single value; the zero value if there is none.
pub(super) fn one(of: ValueType, values: &[WireValue<'_>], depth: usize) -> Result<Decoded, String> {
    if let ValueType::Message(id) = of {
        return match values {
            [] => message(id.get(), &[], depth),
            [WireValue::Bytes(bytes)] => message(id.get(), bytes, depth),
            // A message in parts is the message of all their bytes.
            parts => {
                let bytes: Vec<&[u8]> = parts.iter().map(|part| part.bytes()).collect();
                message(id.get(), &bytes.concat(), depth)
            }
        };
    }
    let value = values.last().copied();
    let number = match value {
        Some(WireValue::Number(number) | WireValue::Fixed(number)) => number,
        _ => 0,
    };
    let bytes = value.map(WireValue::bytes).unwrap_or_default();
    Ok(match of {
        ValueType::Bool => Decoded { json: (number != 0).into(), zero: number == 0 },
        ValueType::Int => Decoded { json: number.cast_signed().into(), zero: number == 0 },
        ValueType::Double => {
            let number = f64::from_bits(number);
            Decoded { json: double(number)?, zero: number == 0.0 }
        }
        ValueType::Bytes if value.is_none() => Decoded { json: Value::Null, zero: true },
        ValueType::Bytes => Decoded { json: BASE64_STANDARD.encode(bytes).into(), zero: bytes.is_empty() },
        ValueType::Text | ValueType::Message(_) => {
            Decoded { json: String::from_utf8_lossy(bytes).into(), zero: bytes.is_empty() }
        }
    })
}

fn list(field: &'static Field, values: &[WireValue<'_>], depth: usize) -> Result<Decoded, String> {
    let mut items = Vec::with_capacity(values.len());
    for value in values {
        match (value, field.value) {
            (WireValue::Bytes(packed), ValueType::Bool | ValueType::Int) => {
                let mut reader = Reader(packed);
                while !reader.0.is_empty() {
                    let number = WireValue::Number(reader.number()?);
                    items.push(one(field.value, &[number], depth)?.json);
                }
            }
            _ => items.push(one(field.value, &[*value], depth)?.json),
        }
    }
    let zero = items.is_empty();
    // Go prints a slice without a value as null.
    Ok(Decoded { json: if zero { Value::Null } else { items.into() }, zero })
}

fn map(field: &'static Field, values: &[WireValue<'_>], depth: usize) -> Result<Decoded, String> {
    let mut members = Map::new();
    for entry in values {
        let (mut name, mut found) = (String::new(), Vec::new());
        for read in Reader(entry.bytes()) {
            match read? {
                (1, WireValue::Bytes(bytes)) => name = String::from_utf8_lossy(bytes).into(),
                (2, value) => found = vec![value],
                _ => {}
            }
        }
        members.insert(name, one(field.value, &found, depth)?.json);
    }
    let zero = members.is_empty();
    Ok(Decoded { json: if zero { Value::Null } else { members.into() }, zero })
}

/// Go prints whole floats without a fraction.
fn double(number: f64) -> Result<Value, String> {
    let whole = number.fract() == 0.0 && number.abs() < 1e15;
    let json = if whole { format!("{number:.0}").parse().ok() } else { Number::from_f64(number) };
    json.map(Value::Number).ok_or_else(|| format!("json: unsupported value: {number}"))
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
