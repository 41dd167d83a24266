//! The messages whose JSON is not an object of their fields: times, quantities, embedded JSON, and the unions in schemas.

use jiff::{Timestamp, fmt::strtime};
use serde_json::Value;

use super::{
    decode::{Decoded, one as decode_one},
    encode::one as encode_one,
    table::Message,
    wire::{WireValue, put_bytes, put_number},
};

const DECIMALS: i32 = 1000;

/// What a custom message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Custom {
    Time,
    /// With six decimals.
    MicroTime,
    Quantity,
    IntOrString,
    /// JSON in JSON.
    Raw,
    SchemaOrArray,
    SchemaOrBool,
    SchemaOrStrings,
}

impl Custom {
    fn of(message: &Message) -> Self {
        match message.name.rsplit('.').next().unwrap_or_default() {
            "Time" => Self::Time,
            "MicroTime" => Self::MicroTime,
            "Quantity" => Self::Quantity,
            "IntOrString" => Self::IntOrString,
            "JSONSchemaPropsOrArray" => Self::SchemaOrArray,
            "JSONSchemaPropsOrBool" => Self::SchemaOrBool,
            "JSONSchemaPropsOrStringArray" => Self::SchemaOrStrings,
            _ => Self::Raw,
        }
    }
}

/// Decodes a custom message from the values of each of its fields.
pub(super) fn decode(
    of: &'static Message,
    values: &[Vec<WireValue<'_>>],
    depth: usize,
) -> Result<Decoded, String> {
    let field = |at: usize| decode_one(of.fields[at].value, &values[at], depth);
    let zero = values.iter().all(Vec::is_empty);
    let json = match Custom::of(of) {
        Custom::Time | Custom::MicroTime if zero => Value::Null,
        kind @ (Custom::Time | Custom::MicroTime) => {
            let (seconds, nanos) = (field(0)?.json.as_i64(), field(1)?.json.as_i64());
            time(seconds.unwrap_or(0), nanos.unwrap_or(0), kind == Custom::MicroTime)?
        }
        Custom::Quantity if zero => "0".into(),
        Custom::Quantity => field(0)?.json,
        Custom::IntOrString if field(0)?.zero => {
            let number = field(1)?;
            return Ok(Decoded { zero: number.zero && field(2)?.zero, ..number });
        }
        Custom::IntOrString => field(2)?.json,
        Custom::Raw => match values[0].last().map_or(&[][..], |value| value.bytes()) {
            [] => Value::Null,
            raw => serde_json::from_slice(raw).map_err(|why| format!("embedded JSON: {why}"))?,
        },
        Custom::SchemaOrBool if values[1].is_empty() => field(0)?.json,
        Custom::SchemaOrBool => field(1)?.json,
        Custom::SchemaOrArray | Custom::SchemaOrStrings if !values[1].is_empty() => {
            let each = |value: &WireValue<'_>| Ok(decode_one(of.fields[1].value, &[*value], depth)?.json);
            values[1].iter().map(each).collect::<Result<Value, String>>()?
        }
        Custom::SchemaOrArray | Custom::SchemaOrStrings if zero => Value::Null,
        Custom::SchemaOrArray | Custom::SchemaOrStrings => field(0)?.json,
    };
    Ok(Decoded { json, zero })
}

/// Encodes the JSON of a custom message.
pub(super) fn encode(of: &'static Message, value: &Value, out: &mut Vec<u8>) -> Result<(), String> {
    let field = |at: usize, value: &Value, out: &mut Vec<u8>| {
        encode_one(of.fields[at].number, of.fields[at].value, value, out)
    };
    match (Custom::of(of), value) {
        (Custom::Quantity, Value::Null) => field(0, &"0".into(), out),
        (Custom::Quantity, Value::Number(number)) => field(0, &number.to_string().into(), out),
        (Custom::Quantity, text) => field(0, text, out),
        (Custom::IntOrString, text) => {
            put_number(out, 1, text.is_string().into());
            field(1, if text.is_string() { &Value::Null } else { text }, out)?;
            field(2, if text.is_string() { text } else { &Value::Null }, out)
        }
        (_, Value::Null) => Ok(()),
        (kind @ (Custom::Time | Custom::MicroTime), text) => {
            let time: Timestamp = text
                .as_str()
                .and_then(|text| text.parse().ok())
                .ok_or_else(|| format!("expected a time, not {text}"))?;
            let nanos = time.subsec_nanosecond() / DECIMALS * DECIMALS;
            // A time before 1970 counts back from the second after it in jiff, forward from the second before it in Go.
            let (seconds, nanos) = if nanos < 0 {
                (time.as_second() - 1, nanos + 1_000_000_000)
            } else {
                (time.as_second(), nanos)
            };
            put_number(out, 1, seconds.cast_unsigned());
            let nanos = if kind == Custom::MicroTime { i64::from(nanos) } else { 0 };
            put_number(out, 2, nanos.cast_unsigned());
            Ok(())
        }
        (Custom::Raw, json) => {
            put_bytes(out, 1, json.to_string().as_bytes());
            Ok(())
        }
        (Custom::SchemaOrBool, allows @ Value::Bool(_)) => field(0, allows, out),
        (Custom::SchemaOrBool, schema) => {
            field(0, &true.into(), out)?;
            field(1, schema, out)
        }
        (Custom::SchemaOrArray | Custom::SchemaOrStrings, Value::Array(items)) => {
            items.iter().try_for_each(|item| field(1, item, out))
        }
        (Custom::SchemaOrArray | Custom::SchemaOrStrings, schema) => field(0, schema, out),
    }
}

fn time(seconds: i64, nanos: i64, micro: bool) -> Result<Value, String> {
    let bad = |why: jiff::Error| format!("the time {seconds}.{nanos:09}: {why}");
    let nanos = if micro { i32::try_from(nanos).unwrap_or(0) } else { 0 };
    let time = Timestamp::new(seconds, nanos).map_err(bad)?;
    let format = if micro { "%Y-%m-%dT%H:%M:%S.%6fZ" } else { "%Y-%m-%dT%H:%M:%SZ" };
    Ok(strtime::format(format, time).map_err(bad)?.into())
}
