//! Rules for what a value holds.

use serde_json::Value;

use super::formats::{self, Format};
use crate::{object::quantity::Quantity, schema::ErrorList};

pub(super) enum Content {
    Enum(Vec<&'static str>, Zero),
    Min(i64),
    Max(i64),
    /// The last is the message, where genuine servers have an own one.
    Range(i64, i64, Zero, &'static str),
    /// Positive numbers only. The text is how the message calls zero.
    Above(Zero, &'static str),
    Format(Format, Zero),
    MaxItems(usize),
    MaxLength(usize),
    /// Elements are unique.
    Unique,
    /// Elements are unique by these members; the error is at the element, or at its last member.
    Keys(Vec<&'static str>, bool),
}

/// Which zero values are judged rather than taken for missing ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Zero {
    /// Those behind a pointer.
    Missing,
    /// All. The names of such rules end with `!`.
    Judged,
    /// None. The names of such rules end with `?`.
    Unfilled,
}

impl Content {
    pub(super) fn parse(name: &str, rest: &'static str) -> Option<Self> {
        let list = || rest.split('|').collect();
        let (name, zero) = match (name.strip_suffix('!'), name.strip_suffix('?')) {
            (Some(name), _) => (name, Zero::Judged),
            (_, Some(name)) => (name, Zero::Unfilled),
            _ => (name, Zero::Missing),
        };
        Some(match name {
            "enum" => Self::Enum(list(), zero),
            "min" => Self::Min(rest.parse().ok()?),
            "max" => Self::Max(rest.parse().ok()?),
            "range" => {
                let (min, rest) = rest.split_once(' ')?;
                let (max, why) = rest.split_once(' ').unwrap_or((rest, ""));
                Self::Range(min.parse().ok()?, max.parse().ok()?, zero, why)
            }
            "fileMode" => Self::Range(0, 0o777, Zero::Missing, formats::FILE_MODE),
            "above" => Self::Above(zero, if rest.is_empty() { "0" } else { rest }),
            "format" => Self::Format(Format::named(rest)?, zero),
            "maxItems" => Self::MaxItems(rest.parse().ok()?),
            "maxLength" | "maxBytes" => Self::MaxLength(rest.parse().ok()?),
            "unique" => Self::Unique,
            "keys" => Self::Keys(list(), false),
            "named" => Self::Keys(list(), true),
            _ => return None,
        })
    }

    pub(super) fn zero(&self) -> Zero {
        match self {
            Self::Enum(_, zero)
            | Self::Range(_, _, zero, _)
            | Self::Above(zero, _)
            | Self::Format(_, zero) => *zero,
            _ => Zero::Missing,
        }
    }

    pub(super) fn judge(&self, value: &Value, at: &str, errors: &mut ErrorList) {
        match self {
            Self::Enum(values, _) => {
                if value.as_str().is_some_and(|text| !values.contains(&text)) {
                    errors.not_supported(at, value, values);
                }
            }
            Self::Min(min) => {
                if number(value).is_some_and(|number| number < *min) {
                    let why = format!("must be greater than or equal to {min}");
                    errors.invalid(at, value, &why);
                }
            }
            Self::Max(max) => {
                if number(value).is_some_and(|number| number > *max) {
                    let why = format!("must be less than or equal to {max}");
                    errors.invalid(at, value, &why);
                }
            }
            Self::Range(min, max, _, own) => {
                if number(value).is_some_and(|number| !(*min..=*max).contains(&number)) {
                    let why = match own.is_empty() {
                        true => format!("must be between {min} and {max}, inclusive"),
                        false => (*own).to_owned(),
                    };
                    errors.invalid(at, value, &why);
                }
            }
            Self::Above(_, zero) => {
                if value == "" || number(value).is_some_and(|number| number <= 0) {
                    let printed = if value == "" { Value::from(0) } else { value.clone() };
                    errors.invalid(at, printed, &format!("must be greater than {zero}"));
                }
            }
            Self::Format(format, _) => {
                for why in value.as_str().into_iter().flat_map(|text| format.problems(text)) {
                    errors.invalid(at, value, &why);
                }
            }
            Self::MaxItems(max) => {
                errors.at_most(*max, at, items(value).unwrap_or_default());
            }
            Self::MaxLength(max) => {
                if value.as_str().is_some_and(|text| text.len() > *max) {
                    errors.too_long(at, *max);
                }
            }
            Self::Unique => unique(value, at, errors, |value| Some(value.clone()), None),
            Self::Keys(keys, named) => {
                let key = |value: &Value| {
                    let set = !named || keys.last().is_some_and(|last| !is_zero(&value[last]));
                    set.then(|| keys.iter().map(|key| value[key].clone()).collect())
                };
                unique(value, at, errors, key, keys.last().filter(|_| *named).copied());
            }
        }
    }
}

/// Whether a value is what its Go variable holds at first.
pub(super) fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(set) => !set,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.values().all(is_zero),
    }
}

fn items(value: &Value) -> Option<usize> {
    match value {
        Value::Array(list) => Some(list.len()),
        Value::Object(map) => Some(map.len()),
        _ => None,
    }
}

/// A number; of quantities only the sign matters.
fn number(value: &Value) -> Option<i64> {
    let sign = |amount: Quantity| i64::from(!amount.is_zero()) * if amount.is_negative() { -1 } else { 1 };
    value.as_i64().or_else(|| value.as_str().and_then(Quantity::parse).map(sign))
}

/// Elements without a key are not compared.
fn unique(
    value: &Value,
    at: &str,
    errors: &mut ErrorList,
    key: impl Fn(&Value) -> Option<Value>,
    member: Option<&str>,
) {
    let mut keys = Vec::new();
    for (i, value) in value.as_array().into_iter().flatten().enumerate() {
        let Some(key) = key(value) else { continue };
        if keys.contains(&key) {
            let (place, printed) = match member {
                Some(member) => (format!("{at}[{i}].{member}"), &value[member]),
                None => (format!("{at}[{i}]"), value),
            };
            errors.duplicate(place, printed);
        } else {
            keys.push(key);
        }
    }
}
