//! The side of the types: slots for their visitors and seeds, and the deserializer that all types see.

use std::fmt;

use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error as _, MapAccess, SeqAccess, VariantAccess, Visitor,
};

use super::dynamic::{
    DynDeserializer, DynEnumAccess, DynMapAccess, DynSeed, DynSeqAccess, DynVisitor, Found, Hint, take,
};
use super::error::Error;

/// A visitor or seed, then the value that it made.
pub(super) struct Slot<T, V> {
    maker: Option<T>,
    value: Option<V>,
}

impl<T, V> Slot<T, V> {
    pub(super) fn new(maker: T) -> Self {
        Self { maker: Some(maker), value: None }
    }

    /// The value, if the visitor or seed was used.
    pub(super) fn value(self) -> Option<V> {
        self.value
    }
}

fn present<V>(value: Option<V>) -> Result<V, Error> {
    value.ok_or_else(unused)
}

// Not a closure: it would be compiled for each type.
#[cold]
fn unused() -> Error {
    Error::Custom("a visitor or seed was not used".to_owned())
}

impl<'de, S: DeserializeSeed<'de>> DynSeed<'de> for Slot<S, S::Value> {
    fn deserialize(&mut self, deserializer: &mut dyn DynDeserializer<'de>) -> Result<(), Error> {
        self.value = Some(take(&mut self.maker)?.deserialize(deserializer)?);
        Ok(())
    }
}

impl<'de, V: Visitor<'de>> DynVisitor<'de> for Slot<V, V::Value> {
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.maker {
            Some(visitor) => visitor.expecting(f),
            None => Ok(()),
        }
    }

    fn visit(&mut self, found: Found<'_, 'de>) -> Result<(), Error> {
        let visitor = take(&mut self.maker)?;
        let result = match found {
            Found::Bool(value) => visitor.visit_bool(value),
            Found::I64(value) => visitor.visit_i64(value),
            Found::U64(value) => visitor.visit_u64(value),
            Found::F64(value) => visitor.visit_f64(value),
            Found::Str(value) => visitor.visit_str(value),
            Found::None => visitor.visit_none(),
            Found::Unit => visitor.visit_unit(),
            Found::Some(deserializer) => visitor.visit_some(deserializer),
            Found::Seq(access) => visitor.visit_seq(access),
            Found::Map(access) => visitor.visit_map(access),
            Found::Enum(access) => visitor.visit_enum(access),
        };
        self.value = Some(result?);
        Ok(())
    }
}

fn visit<'de, V: Visitor<'de>>(
    deserializer: &mut dyn DynDeserializer<'de>,
    hint: Hint,
    visitor: V,
) -> Result<V::Value, Error> {
    let mut slot = Slot::new(visitor);
    deserializer.deserialize(hint, &mut slot)?;
    present(slot.value)
}

/// Methods that pass on their hint.
macro_rules! hints {
    ($($method:ident $hint:ident,)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            visit(self, Hint::$hint, visitor)
        }
    )*};
}

/// Methods that no type calls. They fail, because another method in their place could read another value.
macro_rules! refused {
    ($($method:ident($($arg:ty),*),)*) => {$(
        fn $method<V: Visitor<'de>>(self, $(_: $arg,)* _: V) -> Result<V::Value, Error> {
            Err(Error::custom(concat!(stringify!($method), " is not supported here")))
        }
    )*};
}

impl<'de, 'a> Deserializer<'de> for &'a mut (dyn DynDeserializer<'de> + 'a) {
    type Error = Error;

    hints! {
        deserialize_any Any,
        deserialize_bool Bool,
        deserialize_str Str,
        deserialize_string String,
        deserialize_option Option,
        deserialize_seq Seq,
        deserialize_map Map,
        deserialize_identifier Identifier,
        deserialize_ignored_any IgnoredAny,
    }

    refused! {
        deserialize_i8(),
        deserialize_i16(),
        deserialize_i32(),
        deserialize_i64(),
        deserialize_i128(),
        deserialize_u8(),
        deserialize_u16(),
        deserialize_u32(),
        deserialize_u64(),
        deserialize_u128(),
        deserialize_f32(),
        deserialize_f64(),
        deserialize_char(),
        deserialize_bytes(),
        deserialize_byte_buf(),
        deserialize_unit(),
        deserialize_unit_struct(&'static str),
        deserialize_newtype_struct(&'static str),
        deserialize_tuple(usize),
        deserialize_tuple_struct(&'static str, usize),
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        visit(self, Hint::Struct { name, fields }, visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        visit(self, Hint::Enum { name, variants }, visitor)
    }
}

impl<'de, 'a> SeqAccess<'de> for &'a mut (dyn DynSeqAccess<'de> + 'a) {
    type Error = Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Error> {
        let mut slot = Slot::new(seed);
        DynSeqAccess::next_element(*self, &mut slot)?;
        Ok(slot.value())
    }
}

impl<'de, 'a> MapAccess<'de> for &'a mut (dyn DynMapAccess<'de> + 'a) {
    type Error = Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Error> {
        let mut slot = Slot::new(seed);
        DynMapAccess::next_key(*self, &mut slot)?;
        Ok(slot.value())
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Error> {
        let mut slot = Slot::new(seed);
        DynMapAccess::next_value(*self, &mut slot)?;
        present(slot.value)
    }
}

impl<'de, 'a> EnumAccess<'de> for &'a mut (dyn DynEnumAccess<'de> + 'a) {
    type Error = Error;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self), Error> {
        let mut slot = Slot::new(seed);
        DynEnumAccess::variant(self, &mut slot)?;
        Ok((present(slot.value)?, self))
    }
}

impl<'de, 'a> VariantAccess<'de> for &'a mut (dyn DynEnumAccess<'de> + 'a) {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        DynEnumAccess::unit_variant(self)
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, _: S) -> Result<S::Value, Error> {
        Err(Error::custom("variants with data are not supported here"))
    }

    refused! {
        tuple_variant(usize),
        struct_variant(&'static [&'static str]),
    }
}
