//! From a deserializer to values: one seed and visitor, which calls the same methods of the deserializer as derived code does.
//!
//! All errors are returned from here, because the parser adds the position only while it runs.

use std::fmt;

use base64::{Engine, engine::general_purpose::STANDARD};
use serde::de::{DeserializeSeed, Deserializer, Error, Expected, MapAccess, SeqAccess, Unexpected, Visitor};
use serde_json::{Map, Value};

use super::{DataType, FromValue, RecordType, UnknownKeys};

/// Decodes a value that `T` can be made of, and makes it.
pub(crate) fn deserialize<'de, T: FromValue, D: Deserializer<'de>>(
    data_type: DataType,
    deserializer: D,
) -> Result<T, D::Error> {
    let mut value = data_type.deserialize(deserializer)?;
    T::take_from(&mut value).ok_or_else(|| D::Error::invalid_type(Unexpected::Other("null"), &data_type))
}

impl<'de> DeserializeSeed<'de> for DataType {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        match self {
            Self::Any | Self::UnquotedBool(_) => deserializer.deserialize_any(self),
            Self::Ignored => deserializer.deserialize_ignored_any(self),
            // Not `deserialize_enum`, which in the parser is as much code as all other methods that are called here.
            Self::Text | Self::OneOf(_) => deserializer.deserialize_string(self),
            Self::Base64 => {
                let value = deserializer.deserialize_option(Self::Optional(&Self::Text))?;
                STANDARD.decode(value.as_str().unwrap_or_default()).map_err(D::Error::custom)?;
                Ok(value)
            }
            Self::Bool => deserializer.deserialize_bool(self),
            Self::Optional(_) => deserializer.deserialize_option(self),
            Self::List(_) => deserializer.deserialize_seq(self),
            Self::Map(_) | Self::Record(_) => deserializer.deserialize_map(self),
        }
    }
}

impl<'de> Visitor<'de> for DataType {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any | Self::Ignored => f.write_str("any value"),
            Self::Text | Self::Base64 | Self::OneOf(_) => f.write_str("a string"),
            Self::Bool => f.write_str("a boolean"),
            Self::UnquotedBool(key) => write!(f, "true or false without quotes as `{key}`"),
            Self::Optional(_) => f.write_str("option"),
            Self::List(_) => f.write_str("a sequence"),
            Self::Map(_) => f.write_str("a map"),
            Self::Record(record) => write!(f, "struct {}", record.name),
        }
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        match self {
            Self::Bool | Self::UnquotedBool(_) => Ok(Value::Bool(value)),
            _ => self.untyped(Value::Bool(value), Unexpected::Bool(value)),
        }
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        self.untyped(value.into(), Unexpected::Signed(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        self.untyped(value.into(), Unexpected::Unsigned(value))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        self.untyped(value.into(), Unexpected::Float(value))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        match self {
            Self::Text => Ok(text.into()),
            Self::OneOf(words) if !words.contains(&text) => Err(E::unknown_variant(text, words)),
            Self::OneOf(_) => Ok(text.into()),
            Self::UnquotedBool(_) => {
                let expected: &dyn Expected = &self;
                Err(E::custom(format_args!("the text {text:?}, expected {expected}")))
            }
            _ => self.untyped(text.into(), Unexpected::Str(text)),
        }
    }

    fn visit_string<E: Error>(self, text: String) -> Result<Value, E> {
        match self {
            Self::Text | Self::Any => Ok(Value::String(text)),
            _ => self.visit_str(&text),
        }
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        match self {
            Self::Optional(_) | Self::UnquotedBool(_) => Ok(Value::Null),
            _ => self.untyped(Value::Null, Unexpected::Unit),
        }
    }

    fn visit_none<E: Error>(self) -> Result<Value, E> {
        self.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        match self {
            Self::Optional(data_type) => data_type.deserialize(deserializer),
            Self::Any | Self::Ignored => self.deserialize(deserializer),
            _ => Err(D::Error::invalid_type(Unexpected::Option, &self)),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let element = match self {
            Self::List(element) => *element,
            Self::Any | Self::Ignored => self,
            _ => return Err(A::Error::invalid_type(Unexpected::Seq, &self)),
        };
        let mut list = Vec::new();
        while let Some(value) = access.next_element_seed(element)? {
            if !matches!(element, Self::Ignored) {
                list.push(value);
            }
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        match self {
            Self::Map(_) | Self::Record(_) | Self::Any => {}
            Self::Ignored => {
                // The keys may be anything too.
                while access.next_key_seed(self)?.is_some() {
                    access.next_value_seed(self)?;
                }
                return Ok(Value::Null);
            }
            _ => return Err(A::Error::invalid_type(Unexpected::Map, &self)),
        }
        let mut map = Map::new();
        while let Some(Value::String(key)) = access.next_key_seed(Self::Text)? {
            let value_type = match self {
                Self::Record(record) => record.type_of(&key, &map)?,
                Self::Map(value) => *value,
                _ => Self::Any,
            };
            let value = access.next_value_seed(value_type)?;
            if !matches!(value_type, Self::Ignored) {
                map.insert(key, value);
            }
        }
        match self {
            Self::Record(record) => record.check_required(&map).map(|()| Value::Object(map)),
            Self::Any => Ok(precise_number(&map).unwrap_or(Value::Object(map))),
            _ => Ok(Value::Object(map)),
        }
    }
}

impl DataType {
    /// A value, if any is accepted.
    fn untyped<E: Error>(self, value: Value, found: Unexpected<'_>) -> Result<Value, E> {
        match self {
            Self::Any => Ok(value),
            Self::Ignored => Ok(Value::Null),
            _ => Err(E::invalid_type(found, &self)),
        }
    }
}

impl RecordType {
    /// What the value of `key` has to be.
    fn type_of<E: Error>(&self, key: &str, decoded: &Map<String, Value>) -> Result<DataType, E> {
        match self.fields.iter().find(|field| field.name == key) {
            Some(field) if decoded.contains_key(key) => Err(E::duplicate_field(field.name)),
            Some(field) => Ok(field.data_type),
            None if self.unknown == UnknownKeys::Kept => Ok(DataType::Any),
            None => Ok(DataType::Ignored),
        }
    }

    fn check_required<E: Error>(&self, decoded: &Map<String, Value>) -> Result<(), E> {
        match self.fields.iter().find(|field| field.required && !decoded.contains_key(field.name)) {
            Some(field) => Err(E::missing_field(field.name)),
            None => Ok(()),
        }
    }
}

/// A number as `serde_json` passes it on if a program enables its feature `arbitrary_precision`: a map with this key.
fn precise_number(map: &Map<String, Value>) -> Option<Value> {
    let text = map.get("$serde_json::private::Number").filter(|_| map.len() == 1)?;
    text.as_str()?.parse().ok().map(Value::Number)
}
