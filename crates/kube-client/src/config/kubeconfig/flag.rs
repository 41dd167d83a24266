//! Yes or no, as kubectl reads it.

use std::fmt;

use serde::de::{Deserializer, Error, Visitor};

/// The YAML boolean under `key`. Text is none: `"yes"` in quotes is refused by kubectl too, and whoever reads it as a yes may leave
/// a connection open to anyone.
pub(super) fn flag<'de, D: Deserializer<'de>>(
    key: &'static str,
    deserializer: D,
) -> Result<Option<bool>, D::Error> {
    deserializer.deserialize_any(Flag(key))
}

struct Flag(&'static str);

impl Visitor<'_> for Flag {
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
