//! [`UniqueKeys`]: a JSON value from any format, where no mapping has a key twice.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Unexpected, Visitor};
use serde_json::{Map, Number, Value};

/// A value as [`Value`] decodes it, except that a key that occurs twice in a mapping is an error: `Value` keeps the last and drops the
/// first.
pub(super) struct UniqueKeys(pub(super) Value);

impl<'de> Deserialize<'de> for UniqueKeys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor).map(Self)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a mapping, a list, a text, a number, a boolean or null")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        // `1.0` is 1, as for kubectl: servers refuse it in a field of whole numbers.
        if value.fract() == 0.0 && value.abs() <= MAX_EXACT {
            return Ok((value as i64).into());
        }
        let number = Number::from_f64(value);
        number
            .map(Value::Number)
            .ok_or_else(|| E::invalid_value(Unexpected::Float(value), &"a finite number"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(UniqueKeys(item)) = seq.next_element()? {
            items.push(item);
        }
        Ok(items.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut fields = Map::new();
        while let Some(UniqueKeys(key)) = map.next_key()? {
            let key = key_text(key).map_err(A::Error::custom)?;
            if fields.contains_key(&key) {
                return Err(A::Error::custom(format_args!("the key {key:?} occurs twice: expected it once")));
            }
            let UniqueKeys(value) = map.next_value()?;
            fields.insert(key, value);
        }
        Ok(fields.into())
    }
}

/// The text of a key: YAML reads `yes` as a boolean and `1` as a number.
fn key_text(key: Value) -> Result<String, &'static str> {
    match key {
        Value::String(text) => Ok(text),
        Value::Bool(_) | Value::Number(_) => Ok(key.to_string()),
        Value::Null => Err("a key is null: expected a text"),
        Value::Array(_) => Err("a key is a list: expected a text"),
        Value::Object(_) => Err("a key is a mapping: expected a text"),
    }
}

/// Up to here, `f64` has every whole number.
const MAX_EXACT: f64 = 9_007_199_254_740_992.0;
