//! Values that appear in several parts of a kubeconfig: extensions, booleans, secrets and base64 data.

use std::fmt;

use serde::de::{Deserializer, Error, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Data of another tool under a name. `Debug` shows only the name, because the data may be secret.
#[derive(Clone, Serialize, Deserialize)]
pub struct NamedExtension {
    /// The tool's name for it.
    pub name: String,
    /// The data, of any shape.
    pub extension: Value,
}

impl fmt::Debug for NamedExtension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NamedExtension").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Deserializes the YAML boolean under `key`. A quoted `"yes"` is an error, as for kubectl: read as true, it could turn off certificate
/// verification.
pub(super) fn yaml_bool<'de, D: Deserializer<'de>>(
    key: &'static str,
    deserializer: D,
) -> Result<Option<bool>, D::Error> {
    deserializer.deserialize_any(BoolVisitor(key))
}

struct BoolVisitor(&'static str);

impl Visitor<'_> for BoolVisitor {
    type Value = Option<bool>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "true or false without quotes as `{}`", self.0)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Self::Value, E> {
        Ok(Some(value))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Err(E::custom(format_args!(
            "the text {text:?}, expected true or false without quotes as `{}`",
            self.0
        )))
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }
}

/// Secrets are written only when the whole document is serialized.
pub(super) mod secret {
    use secrecy::{ExposeSecret, SecretString};
    use serde::{Deserialize, Deserializer, Serializer};

    pub(in super::super) fn serialize<S: Serializer>(
        value: &Option<SecretString>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match value {
            Some(secret) => serializer.serialize_some(secret.expose_secret()),
            None => serializer.serialize_none(),
        }
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<SecretString>, D::Error> {
        Ok(Option::<String>::deserialize(deserializer)?.map(SecretString::from))
    }
}

pub(super) mod base64_bytes {
    use base64::{Engine, engine::general_purpose::STANDARD};
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(in super::super) fn serialize<S: Serializer>(
        value: &Option<Vec<u8>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match value {
            Some(bytes) => serializer.serialize_some(&STANDARD.encode(bytes)),
            None => serializer.serialize_none(),
        }
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Vec<u8>>, D::Error> {
        Option::<String>::deserialize(deserializer)?
            .map(|text| STANDARD.decode(text).map_err(D::Error::custom))
            .transpose()
    }
}
