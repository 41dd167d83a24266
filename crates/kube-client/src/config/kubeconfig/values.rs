//! How single values of a kubeconfig are read and written: what may be null (also within lists and maps), booleans, secrets, base64 data
//! and unknown keys.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, Visitor};
use serde_json::{Number, Value};

/// Null is the default, as for kubectl: its `clusters: null` is an empty list.
pub(super) fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// A list in which null is an item with its defaults.
pub(super) fn list<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    optional_list(deserializer).map(Option::unwrap_or_default)
}

/// The same, or none.
pub(super) fn optional_list<'de, D, T>(deserializer: D) -> Result<Option<Vec<T>>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Option::<Vec<Option<T>>>::deserialize(deserializer)?.map(items))
}

/// A map in which null is an empty text.
pub(super) fn map<'de, D: Deserializer<'de>>(deserializer: D) -> Result<HashMap<String, String>, D::Error> {
    let map = Option::<HashMap<String, Option<String>>>::deserialize(deserializer)?;
    Ok(entries(map.unwrap_or_default()))
}

/// A list of such maps, or none.
pub(super) fn optional_list_of_maps<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Vec<HashMap<String, String>>>, D::Error> {
    let list = Option::<Vec<Option<HashMap<String, Option<String>>>>>::deserialize(deserializer)?;
    Ok(list.map(|list| items(list).into_iter().map(entries).collect()))
}

/// A map of lists of text, or none. Null is an empty list or text.
pub(super) fn optional_map_of_lists<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<HashMap<String, Vec<String>>>, D::Error> {
    let map = Option::<HashMap<String, Option<Vec<Option<String>>>>>::deserialize(deserializer)?;
    Ok(map.map(|map| entries(map).into_iter().map(|(key, list)| (key, items(list))).collect()))
}

fn items<T: Default>(list: Vec<Option<T>>) -> Vec<T> {
    list.into_iter().map(Option::unwrap_or_default).collect()
}

fn entries<T: Default>(map: HashMap<String, Option<T>>) -> HashMap<String, T> {
    map.into_iter().map(|(key, value)| (key, value.unwrap_or_default())).collect()
}

/// A boolean or null. In quotes it is an error, as for kubectl: a quoted `"no"` that is read as true could turn off certificate
/// verification.
pub(super) fn unquoted_bool<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<bool>, D::Error> {
    deserializer.deserialize_any(UnquotedBool)
}

/// The same with false for null.
pub(super) fn unquoted_bool_or_false<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    unquoted_bool(deserializer).map(Option::unwrap_or_default)
}

struct UnquotedBool;

impl Visitor<'_> for UnquotedBool {
    type Value = Option<bool>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("true or false without quotes")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Option<bool>, E> {
        Ok(Some(value))
    }

    fn visit_unit<E: Error>(self) -> Result<Option<bool>, E> {
        Ok(None)
    }
}

/// Secret text. It is written only when the whole document is serialized.
pub(super) mod secret {
    use secrecy::{ExposeSecret, SecretString};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(in super::super) fn serialize<S: Serializer>(
        secret: &Option<SecretString>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        secret.as_ref().map(ExposeSecret::expose_secret).serialize(serializer)
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<SecretString>, D::Error> {
        let text = Option::<String>::deserialize(deserializer)?;
        Ok(text.map(SecretString::from))
    }
}

/// Bytes that are base64 in the document.
pub(super) mod base64_bytes {
    use base64::{Engine, engine::general_purpose::STANDARD};
    use serde::de::{Deserialize, Deserializer, Error};
    use serde::{Serialize, Serializer};

    pub(in super::super) fn serialize<S: Serializer>(
        bytes: &Option<Vec<u8>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        bytes.as_ref().map(|bytes| STANDARD.encode(bytes)).serialize(serializer)
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Vec<u8>>, D::Error> {
        let text = Option::<String>::deserialize(deserializer)?;
        text.map(|text| STANDARD.decode(text).map_err(D::Error::custom)).transpose()
    }
}

/// All keys that a type does not know, for `#[serde(flatten)]`. In their values YAML's numbers and booleans as keys become text, as for
/// kubectl; a `Value` alone refuses them.
pub(super) fn unknown_keys<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, Value>, D::Error> {
    let values = BTreeMap::<String, AnyValue>::deserialize(deserializer)?;
    Ok(values.into_iter().map(|(key, value)| (key, value.into())).collect())
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "expected keys that are text, numbers or booleans")]
enum AnyValue {
    Plain(Value),
    List(Vec<AnyValue>),
    Map(BTreeMap<AnyKey, AnyValue>),
}

#[derive(Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(from = "Scalar")]
struct AnyKey(String);

#[derive(Deserialize)]
#[serde(untagged)]
enum Scalar {
    Text(String),
    Bool(bool),
    Number(Number),
}

impl From<Scalar> for AnyKey {
    fn from(key: Scalar) -> Self {
        Self(match key {
            Scalar::Text(text) => text,
            Scalar::Bool(value) => value.to_string(),
            Scalar::Number(number) => number.to_string(),
        })
    }
}

impl From<AnyValue> for Value {
    fn from(value: AnyValue) -> Self {
        match value {
            AnyValue::Plain(value) => value,
            AnyValue::List(values) => values.into_iter().map(Self::from).collect(),
            AnyValue::Map(values) => {
                values.into_iter().map(|(AnyKey(key), value)| (key, Self::from(value))).collect()
            }
        }
    }
}

/// The entries by name: the order of a hash map differs from map to map.
pub(crate) fn sorted(entries: &HashMap<String, String>) -> Vec<(&str, &str)> {
    let mut sorted: Vec<_> = entries.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    sorted.sort_unstable();
    sorted
}
