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
pub(crate) struct Fields<'a>(Option<&'a mut Map<String, Value>>);

impl<'a> Fields<'a> {
    /// The fields of a value that was decoded as a record.
    pub(crate) fn of(value: &'a mut Value) -> Self {
        Self(value.as_object_mut())
    }

    /// The value of a key, unless it is missing or null.
    // Called for each key of each record.
    pub(crate) fn take<T: FromValue>(&mut self, name: &str) -> Option<T> {
        let mut taken = None;
        self.remove(name, &mut |value| taken = T::take_from(value));
        taken
    }

    /// Not generic, so that values are dropped in one place.
    fn remove(&mut self, name: &str, take: &mut dyn FnMut(&mut Value)) {
        if let Some(mut value) = self.0.as_mut().and_then(|map| map.remove(name)) {
            take(&mut value);
        }
    }

    /// The bytes of a key that is base64.
    pub(crate) fn take_base64(&mut self, name: &str) -> Option<Vec<u8>> {
        self.take::<String>(name).and_then(|text| STANDARD.decode(text).ok())
    }

    /// All keys that were not taken, which are the unknown ones.
    pub(crate) fn other(&mut self) -> BTreeMap<String, Value> {
        // Not `collect`, which compiles a sort.
        let mut other = BTreeMap::new();
        for (key, value) in self.0.take().map(std::mem::take).into_iter().flatten() {
            other.insert(key, value);
        }
        other
    }
}

/// A type that can be made of a decoded value.
pub(crate) trait FromValue: Sized {
    /// Moves out of the value what it needs, so that the caller alone drops the rest. `None` if the value is null, or if it is not what
    /// the table says.
    fn take_from(value: &mut Value) -> Option<Self>;
}

impl<T: Record> FromValue for T {
    fn take_from(value: &mut Value) -> Option<Self> {
        value.is_object().then(|| T::from_fields(&mut Fields::of(value)))
    }
}

impl FromValue for Value {
    fn take_from(value: &mut Value) -> Option<Self> {
        (!value.is_null()).then(|| value.take())
    }
}

impl FromValue for String {
    fn take_from(value: &mut Value) -> Option<Self> {
        match value {
            Value::String(text) => Some(std::mem::take(text)),
            _ => None,
        }
    }
}

impl FromValue for SecretString {
    fn take_from(value: &mut Value) -> Option<Self> {
        String::take_from(value).map(Self::from)
    }
}

impl FromValue for bool {
    fn take_from(value: &mut Value) -> Option<Self> {
        value.as_bool()
    }
}

impl<T: FromValue> FromValue for Vec<T> {
    fn take_from(value: &mut Value) -> Option<Self> {
        let values = value.as_array_mut()?;
        // Not `collect`, which is three times as much code for each type.
        let mut list = Vec::with_capacity(values.len());
        for value in values {
            list.extend(T::take_from(value));
        }
        Some(list)
    }
}

impl<T: FromValue> FromValue for HashMap<String, T> {
    fn take_from(value: &mut Value) -> Option<Self> {
        let values = value.as_object_mut()?;
        let mut map = HashMap::with_capacity(values.len());
        for (key, value) in values {
            if let Some(value) = T::take_from(value) {
                map.insert(key.clone(), value);
            }
        }
        Some(map)
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
