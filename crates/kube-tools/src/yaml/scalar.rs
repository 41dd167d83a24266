//! What the text of a scalar stands for: a text, number, boolean or null, as kubectl's parser decides (YAML 1.1, as Go's `yaml.v2` has it).

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use kube_core::number::{json_number, whole};
use serde_json::Value;

/// The value of a scalar.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Scalar {
    Null,
    Bool(bool),
    /// A whole number of 64 bits, with a sign or without.
    Int(i128),
    Float(f64),
    Text(String),
}

impl Scalar {
    /// Of a scalar without a tag and without quotes.
    pub(super) fn plain(text: &str) -> Self {
        match text {
            "" | "~" | "null" | "Null" | "NULL" => Self::Null,
            "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
                Self::Bool(true)
            }
            "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
                Self::Bool(false)
            }
            ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => Self::Float(f64::INFINITY),
            "-.inf" | "-.Inf" | "-.INF" => Self::Float(f64::NEG_INFINITY),
            ".nan" | ".NaN" | ".NAN" => Self::Float(f64::NAN),
            _ => number(text).unwrap_or_else(|| Self::Text(text.to_owned())),
        }
    }

    /// Of a scalar with a tag, in quotes or not. `tag` is that of YAML, such as `int`; other tags mean nothing to kubectl.
    pub(super) fn tagged(tag: &str, text: &str) -> Result<Self, String> {
        let value = match (tag, Self::plain(text)) {
            ("str", _) => Self::Text(text.to_owned()),
            ("binary", _) => Self::Text(binary(text)?),
            ("null", Self::Null) => Self::Null,
            ("bool", value @ Self::Bool(_)) => value,
            ("int", value @ Self::Int(_)) | ("float", value @ Self::Float(_)) => value,
            ("float", Self::Int(value)) => Self::Float(value as f64),
            ("null" | "bool" | "int" | "float", _) => {
                return Err(format!("expected a value of the type !!{tag}, found {text:?}"));
            }
            _ => Self::Text(text.to_owned()),
        };
        Ok(value)
    }

    /// As JSON.
    pub(super) fn into_value(self) -> Result<Value, String> {
        Ok(match self {
            Self::Null => Value::Null,
            Self::Bool(value) => value.into(),
            Self::Int(value) => whole(value).into(),
            Self::Float(value) => {
                Value::Number(json_number(value).ok_or_else(|| format!("{value} is no number in JSON"))?)
            }
            Self::Text(text) => text.into(),
        })
    }

    /// As the key of a JSON object.
    pub(super) fn into_key(self) -> Result<String, &'static str> {
        match self {
            Self::Text(text) => Ok(text),
            Self::Bool(value) => Ok(value.to_string()),
            Self::Int(value) => Ok(value.to_string()),
            Self::Float(value) => Ok(float_key(value)),
            Self::Null => Err("a key is null: expected a text"),
        }
    }
}

fn number(text: &str) -> Option<Scalar> {
    // `_` is left out wherever it is; after a leading point only between digits.
    let is_between = |(before, after): (&str, &str)| {
        before.ends_with(|c: char| c.is_ascii_digit()) && after.starts_with(|c: char| c.is_ascii_digit())
    };
    let digits = match text.as_bytes().first()? {
        b'0'..=b'9' | b'+' | b'-' => text.replace('_', ""),
        b'.' if text.match_indices('_').all(|(at, _)| is_between((&text[..at], &text[at + 1..]))) => {
            text.replace('_', "")
        }
        _ => return None,
    };
    if let Some(value) = integer(&digits) {
        return Some(Scalar::Int(value));
    }
    let value = is_decimal(&digits).then(|| digits.parse::<f64>().ok())??;
    // Too large ones are texts.
    value.is_finite().then_some(Scalar::Float(value))
}

/// With a sign, and one of the prefixes `0x`, `0o`, `0b` and `0` (octal). It has 64 bits.
fn integer(text: &str) -> Option<i128> {
    let (sign, magnitude) = match text.as_bytes().first()? {
        b'-' => (Some(-1), &text[1..]),
        b'+' => (Some(1), &text[1..]),
        _ => (None, text),
    };
    let (radix, digits) = match magnitude.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &magnitude[2..]),
        [b'0', b'o' | b'O', ..] => (8, &magnitude[2..]),
        [b'0', b'b' | b'B', ..] => (2, &magnitude[2..]),
        [b'0', _, ..] => (8, &magnitude[1..]),
        _ => (10, magnitude),
    };
    if !digits.bytes().all(|digit| digit.is_ascii_alphanumeric()) {
        return None;
    }
    let value = i128::from(u64::from_str_radix(digits, radix).ok()?) * sign.unwrap_or(1);
    // A sign is for numbers that have one.
    (sign.is_none() || i64::try_from(value).is_ok()).then_some(value)
}

/// `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`
fn is_decimal(text: &str) -> bool {
    let are_digits = |text: &str| !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit());
    let (mantissa, exponent) = match unsigned(text).split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(unsigned(exponent))),
        None => (unsigned(text), None),
    };
    let is_mantissa = match mantissa.split_once('.') {
        Some(("", after)) => are_digits(after),
        Some((before, after)) => are_digits(before) && (after.is_empty() || are_digits(after)),
        None => are_digits(mantissa),
    };
    is_mantissa && exponent.is_none_or(are_digits)
}

fn unsigned(text: &str) -> &str {
    text.strip_prefix(['-', '+']).unwrap_or(text)
}

/// As Go prints a float of 32 bits by `%g`, which is how kubectl makes a text of it.
fn float_key(value: f64) -> String {
    let value = value as f32;
    if !value.is_finite() {
        return if value.is_nan() {
            ".nan"
        } else if value > 0.0 {
            ".inf"
        } else {
            "-.inf"
        }
        .to_owned();
    }
    let scientific = format!("{value:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    match exponent.parse::<i32>().unwrap_or(0) {
        -4..=5 => value.to_string(),
        exponent => format!("{digits}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs()),
    }
}

fn binary(text: &str) -> Result<String, String> {
    let base64: String = text.chars().filter(|it| !matches!(it, '\r' | '\n')).collect();
    let bytes = BASE64_STANDARD.decode(base64).map_err(|err| format!("!!binary: no base64: {err}"))?;
    String::from_utf8(bytes)
        .map_err(|_| "!!binary: not UTF-8: objects have base64 in texts instead, without a tag".to_owned())
}
