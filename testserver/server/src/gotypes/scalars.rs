//! Reads a scalar as Go does: its canonical form, or why it has a wrong type.

use base64::{
    Engine,
    alphabet::STANDARD,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use jiff::{Timestamp, fmt::temporal::DateTimeParser};
use serde_json::Value;

use super::table::Scalar;
use crate::{object::quantity_text, schema::golang};

/// Why a value cannot be decoded.
pub(super) enum Mismatch {
    /// Another JSON type than that of the Go type.
    Type { found: String, wanted: String },
    /// A text that the Go type cannot read.
    Text(String),
}

/// Base64 as Go reads it: bits after the end are ignored.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::RequireCanonical),
);

/// Brings a value that is not null into the form in which Go prints it.
pub(super) fn normalize(scalar: Scalar, name: &str, value: &mut Value) -> Result<(), Mismatch> {
    match scalar {
        Scalar::String if value.is_string() => Ok(()),
        Scalar::Bool if value.is_boolean() => Ok(()),
        Scalar::Float if value.is_number() => Ok(()),
        Scalar::String => Err(mismatch(value, name, "string")),
        Scalar::Bool => Err(mismatch(value, name, "bool")),
        Scalar::Float => Err(mismatch(value, name, "float64")),
        Scalar::Uint8 => integer(value, name, "uint8", 0, i64::from(u8::MAX)),
        Scalar::Int32 => integer(value, name, "int32", i64::from(i32::MIN), i64::from(i32::MAX)),
        Scalar::Int64 => integer(value, name, "int64", i64::MIN, i64::MAX),
        Scalar::IntOrString if value.is_string() => Ok(()),
        Scalar::IntOrString => integer(value, "", "int32", i64::from(i32::MIN), i64::from(i32::MAX)),
        Scalar::Bytes => bytes(value),
        Scalar::Quantity => quantity(value),
        Scalar::Time => time(value, "2006-01-02T15:04:05Z07:00", false),
        Scalar::MicroTime => time(value, "2006-01-02T15:04:05.000000Z07:00", true),
        Scalar::Duration if value.as_str().is_some_and(golang::is_duration) => Ok(()),
        Scalar::Duration => match value.as_str() {
            Some(text) => Err(Mismatch::Text(format!("time: invalid duration {text:?}"))),
            None => Err(mismatch(value, "", "string")),
        },
        Scalar::Raw | Scalar::SchemaOr | Scalar::SchemaOrBool => Ok(()),
    }
}

/// Whether the value is what a variable of the type holds at first.
pub(super) fn is_zero(scalar: Scalar, value: &Value) -> bool {
    match scalar {
        Scalar::Quantity | Scalar::IntOrString | Scalar::Raw | Scalar::SchemaOr | Scalar::SchemaOrBool => {
            value.is_null()
        }
        Scalar::Duration => value.is_null() || value == "0s",
        _ => match value {
            Value::Null => true,
            Value::Bool(set) => !set,
            Value::Number(number) => number.as_f64() == Some(0.0),
            Value::String(text) => text.is_empty(),
            _ => false,
        },
    }
}

/// What Go prints of a variable that was never set.
pub(super) fn zero(scalar: Scalar) -> Value {
    match scalar {
        Scalar::String => "".into(),
        Scalar::Bool => false.into(),
        Scalar::Uint8 | Scalar::Int32 | Scalar::Int64 | Scalar::Float | Scalar::IntOrString => 0.into(),
        Scalar::Quantity => "0".into(),
        Scalar::Duration => "0s".into(),
        Scalar::Bytes
        | Scalar::Time
        | Scalar::MicroTime
        | Scalar::Raw
        | Scalar::SchemaOr
        | Scalar::SchemaOrBool => Value::Null,
    }
}

fn mismatch(value: &Value, name: &str, plain: &str) -> Mismatch {
    let found = match value {
        // Go names a number only where it expects one.
        Value::Number(number) if plain.contains("int") => format!("number {number}"),
        value => golang::json_type(value).to_owned(),
    };
    Mismatch::Type { found, wanted: if name.is_empty() { plain } else { name }.to_owned() }
}

fn integer(value: &Value, name: &str, plain: &str, min: i64, max: i64) -> Result<(), Mismatch> {
    match value.as_i64() {
        Some(number) if (min..=max).contains(&number) => Ok(()),
        _ => Err(mismatch(value, name, plain)),
    }
}

fn bytes(value: &mut Value) -> Result<(), Mismatch> {
    let decoded = match value {
        Value::String(text) => decode_base64(text)?,
        Value::Array(list) => {
            for item in &*list {
                integer(item, "", "uint8", 0, i64::from(u8::MAX))?;
            }
            list.iter().filter_map(|item| u8::try_from(item.as_u64()?).ok()).collect()
        }
        other => return Err(mismatch(other, "", "[]uint8")),
    };
    *value = BASE64.encode(decoded).into();
    Ok(())
}

fn decode_base64(text: &str) -> Result<Vec<u8>, Mismatch> {
    let plain: String = text.chars().filter(|c| !matches!(c, '\r' | '\n')).collect();
    BASE64
        .decode(&plain)
        .map_err(|_| Mismatch::Text(format!("illegal base64 data at input byte {}", wrong_byte(&plain))))
}

/// Where Go finds the text wrong: at the first strange byte, after the padding, or at the last group of four if that is too short.
fn wrong_byte(text: &str) -> usize {
    let strange = text.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '+' | '/'));
    let Some(at) = strange else { return text.len() / 4 * 4 };
    match (at % 4, &text[at..]) {
        (2, rest) if rest.starts_with("==") => at + 2,
        (2 | 3, rest) if rest.starts_with('=') => at + 1,
        _ => at,
    }
}

/// Numbers are quantities too.
fn quantity(value: &mut Value) -> Result<(), Mismatch> {
    let text = match *value {
        Value::String(ref text) => text.clone(),
        ref other => other.to_string(),
    };
    *value = quantity_text::canonical(&text).map_err(|why| Mismatch::Text(why.to_owned()))?.into();
    Ok(())
}

/// Times are printed in UTC, in seconds or in microseconds.
fn time(value: &mut Value, layout: &str, micro: bool) -> Result<(), Mismatch> {
    static PARSER: DateTimeParser = DateTimeParser::new();
    let Some(text) = value.as_str() else { return Err(mismatch(value, "", "string")) };
    let unread = |rest: &str, part: &str| {
        Mismatch::Text(format!("parsing time {text:?} as {layout:?}: cannot parse {rest:?} as {part:?}"))
    };
    let bytes = text.as_bytes();
    if text.is_empty() || !bytes[0].is_ascii_digit() {
        return Err(unread(text, "2006"));
    }
    if bytes.get(10) != Some(&b'T') {
        return Err(unread(text.get(10..).unwrap_or_default(), "T"));
    }
    let fraction = text.get(19..).unwrap_or_default();
    if micro {
        let six = fraction.get(1..7).is_some_and(|digits| digits.bytes().all(|b| b.is_ascii_digit()));
        if !fraction.starts_with('.') || !six {
            return Err(unread(fraction, ".000000"));
        }
        if fraction.as_bytes().get(7).is_some_and(u8::is_ascii_digit) {
            return Err(unread(&fraction[7..], "Z07:00"));
        }
    }
    if fraction.is_empty() {
        return Err(unread("", "Z07:00"));
    }
    let Ok(time) = PARSER.parse_timestamp(text.replace(',', ".")) else {
        return Err(Mismatch::Text(format!("parsing time {text:?}: {} out of range", out_of_range(text))));
    };
    *value = if is_zero_time(time) {
        Value::Null
    } else if micro {
        format!("{time:.6}").into()
    } else {
        Timestamp::from_second(time.as_second()).map_or(Value::Null, |time| time.to_string().into())
    };
    Ok(())
}

/// The zero of Go's times, which it prints as null.
fn is_zero_time(time: Timestamp) -> bool {
    time.to_string() == "0001-01-01T00:00:00Z"
}

fn out_of_range(text: &str) -> &'static str {
    let number =
        |from: usize| text.get(from..from + 2).and_then(|digits| digits.parse::<u8>().ok()).unwrap_or(99);
    match (number(5), number(8), number(11), number(14), number(17)) {
        (month, ..) if !(1..=12).contains(&month) => "month",
        (_, _, 24.., ..) => "hour",
        (_, _, _, 60.., _) => "minute",
        (.., 60..) => "second",
        _ => "day",
    }
}
