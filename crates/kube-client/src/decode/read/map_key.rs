//! A key of a map whose text is already read. Decodes it as serde_json decodes keys: they are text in JSON, and may be numbers, booleans or
//! variants in Rust.

use serde::de::value::{BorrowedStrDeserializer, StrDeserializer};
use serde::de::{Deserializer, Error, Visitor};
use serde::forward_to_deserialize_any;

/// The text of a key.
pub(super) enum MapKey<'de, 'a> {
    Borrowed(&'de str),
    Transient(&'a str),
}

impl MapKey<'_, '_> {
    fn text(&self) -> &str {
        match self {
            Self::Borrowed(text) => text,
            Self::Transient(text) => text,
        }
    }
}

/// A deserializer of a key, for errors of the type `E`.
pub(super) struct KeyDeserializer<'de, 'a, E> {
    key: MapKey<'de, 'a>,
    error: std::marker::PhantomData<E>,
}

impl<'de, 'a, E> KeyDeserializer<'de, 'a, E> {
    pub(super) fn new(key: MapKey<'de, 'a>) -> Self {
        Self { key, error: std::marker::PhantomData }
    }
}

impl<E: Error> KeyDeserializer<'_, '_, E> {
    /// The text of a number, which JSON allows no space around.
    fn number(&self) -> Result<&str, E> {
        let text = self.key.text();
        let digit = |c: char| c.is_ascii_digit();
        if text.starts_with(|c| c == '-' || digit(c)) && text.ends_with(digit) {
            return Ok(text);
        }
        Err(E::custom("invalid value: expected key to be a number in quotes"))
    }
}

/// Numbers, by serde_json itself, so that their digits and limits are the same.
macro_rules! numbers {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, E> {
            let number: serde_json::Number = serde_json::from_str(self.number()?).map_err(E::custom)?;
            number.$method(visitor).map_err(E::custom)
        }
    )*};
}

impl<'de, E: Error> Deserializer<'de> for KeyDeserializer<'de, '_, E> {
    type Error = E;

    numbers! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64
        deserialize_f32 deserialize_f64
    }

    fn deserialize_i128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, E> {
        visitor.visit_i128(self.number()?.parse().map_err(E::custom)?)
    }

    fn deserialize_u128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, E> {
        visitor.visit_u128(self.number()?.parse().map_err(E::custom)?)
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, E> {
        match self.key {
            MapKey::Borrowed(text) => visitor.visit_borrowed_str(text),
            MapKey::Transient(text) => visitor.visit_str(text),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, E> {
        match self.key.text() {
            "true" => visitor.visit_bool(true),
            "false" => visitor.visit_bool(false),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, E> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, E> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, E> {
        match self.key {
            MapKey::Borrowed(text) => {
                BorrowedStrDeserializer::new(text).deserialize_enum(name, variants, visitor)
            }
            MapKey::Transient(text) => StrDeserializer::new(text).deserialize_enum(name, variants, visitor),
        }
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, E> {
        match self.key {
            MapKey::Borrowed(text) => visitor.visit_borrowed_bytes(text.as_bytes()),
            MapKey::Transient(text) => visitor.visit_bytes(text.as_bytes()),
        }
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, E> {
        self.deserialize_bytes(visitor)
    }

    forward_to_deserialize_any! {
        char str string unit unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}
