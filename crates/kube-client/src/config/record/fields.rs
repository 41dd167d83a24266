//! From decoded values to a record.

use std::collections::{BTreeMap, HashMap};

use base64::{Engine, engine::general_purpose::STANDARD};
use secrecy::SecretString;
use serde_json::{Map, Value};

use super::RecordType;

/// A type that is decoded by a table.
///
/// The derived `Serialize` of the type, its table and `from_fields` belong together: a test fills every field of the table.
pub(crate) trait Record: Sized {
    const TYPE: &'static RecordType;

    /// Cannot fail, because the values are those of the table.
    fn from_fields(fields: &mut Fields) -> Self;
}

/// The decoded values of a record, by key.
pub(crate) struct Fields(Map<String, Value>);

impl Fields {
    /// The fields of a value that was decoded as a record.
    pub(crate) fn of(value: Value) -> Self {
        match value {
            Value::Object(map) => Self(map),
            _ => Self(Map::new()),
        }
    }

    /// The value of a key, unless it is missing or null.
    // Called for each key of each record.
    #[inline(never)]
    pub(crate) fn take<T: FromValue>(&mut self, name: &str) -> Option<T> {
        self.0.remove(name).and_then(T::from_value)
    }

    /// The bytes of a key that is base64.
    pub(crate) fn take_base64(&mut self, name: &str) -> Option<Vec<u8>> {
        self.take::<String>(name).and_then(|text| STANDARD.decode(text).ok())
    }

    /// All keys that were not taken, which are the unknown ones.
    pub(crate) fn other(&mut self) -> BTreeMap<String, Value> {
        // Not `collect`, which compiles a sort.
        let mut other = BTreeMap::new();
        for (key, value) in std::mem::take(&mut self.0) {
            other.insert(key, value);
        }
        other
    }
}

/// A type that can be made of a decoded value.
pub(crate) trait FromValue: Sized {
    /// `None` if the value is null, or if it is not what the table says.
    fn from_value(value: Value) -> Option<Self>;
}

impl<T: Record> FromValue for T {
    fn from_value(value: Value) -> Option<Self> {
        match value {
            Value::Object(map) => Some(T::from_fields(&mut Fields(map))),
            _ => None,
        }
    }
}

impl FromValue for Value {
    fn from_value(value: Value) -> Option<Self> {
        Some(value).filter(|value| !value.is_null())
    }
}

impl FromValue for String {
    fn from_value(value: Value) -> Option<Self> {
        match value {
            Value::String(text) => Some(text),
            _ => None,
        }
    }
}

impl FromValue for SecretString {
    fn from_value(value: Value) -> Option<Self> {
        String::from_value(value).map(Self::from)
    }
}

impl FromValue for bool {
    fn from_value(value: Value) -> Option<Self> {
        value.as_bool()
    }
}

impl<T: FromValue> FromValue for Vec<T> {
    fn from_value(value: Value) -> Option<Self> {
        match value {
            Value::Array(values) => {
                // Not `collect`, which is three times as much code for each type.
                let mut list = Vec::with_capacity(values.len());
                for value in values {
                    list.extend(T::from_value(value));
                }
                Some(list)
            }
            _ => None,
        }
    }
}

impl<T: FromValue> FromValue for HashMap<String, T> {
    fn from_value(value: Value) -> Option<Self> {
        match value {
            Value::Object(values) => {
                let mut map = HashMap::with_capacity(values.len());
                for (key, value) in values {
                    if let Some(value) = T::from_value(value) {
                        map.insert(key, value);
                    }
                }
                Some(map)
            }
            _ => None,
        }
    }
}

/// Implements `Deserialize` by the tables, for every format.
macro_rules! deserialize_by_table {
    ($($record:ty),+ $(,)?) => {$(
        impl<'de> serde::Deserialize<'de> for $record {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                use $crate::config::record::{DataType, Record, deserialize};
                deserialize(DataType::Record(Self::TYPE), deserializer)
            }
        }
    )+};
}
pub(crate) use deserialize_by_table;
