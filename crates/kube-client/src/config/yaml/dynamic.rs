//! serde's traits for a format and for a type, as far as the types of this crate need them, without type parameters.
//!
//! Values are written into a slot behind a `&mut dyn` instead of being returned.

use std::fmt;

use super::error::Error;

/// The method of `serde::Deserializer` that a type calls. Only those that types of this crate call: the format decides by it what `12345`
/// or `null` is.
#[derive(Clone, Copy)]
pub(super) enum Hint {
    Any,
    Bool,
    Str,
    String,
    Option,
    Seq,
    Map,
    Identifier,
    IgnoredAny,
    Struct { name: &'static str, fields: &'static [&'static str] },
    Enum { name: &'static str, variants: &'static [&'static str] },
}

/// What the format found: the method of `serde::de::Visitor` that it calls.
///
/// Integers of all sizes arrive as `i64` or `u64`, and borrowed and owned text as `Str`.
pub(super) enum Found<'a, 'de> {
    Bool(bool),
    I64(i64),
    U64(u64),
    F64(f64),
    Str(&'a str),
    None,
    Unit,
    Some(&'a mut dyn DynDeserializer<'de>),
    Seq(&'a mut dyn DynSeqAccess<'de>),
    Map(&'a mut dyn DynMapAccess<'de>),
    Enum(&'a mut dyn DynEnumAccess<'de>),
}

/// A `serde::Deserializer`, usable once.
pub(super) trait DynDeserializer<'de> {
    fn deserialize(&mut self, hint: Hint, visitor: &mut dyn DynVisitor<'de>) -> Result<(), Error>;
}

/// A `serde::de::Visitor`, usable once.
pub(super) trait DynVisitor<'de> {
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result;
    fn visit(&mut self, found: Found<'_, 'de>) -> Result<(), Error>;
}

/// A `serde::de::DeserializeSeed`, usable once.
pub(super) trait DynSeed<'de> {
    fn deserialize(&mut self, deserializer: &mut dyn DynDeserializer<'de>) -> Result<(), Error>;
}

/// A `serde::de::SeqAccess`.
pub(super) trait DynSeqAccess<'de> {
    /// Leaves the seed unused at the end.
    fn next_element(&mut self, seed: &mut dyn DynSeed<'de>) -> Result<(), Error>;
}

/// A `serde::de::MapAccess`.
pub(super) trait DynMapAccess<'de> {
    /// Leaves the seed unused at the end.
    fn next_key(&mut self, seed: &mut dyn DynSeed<'de>) -> Result<(), Error>;
    fn next_value(&mut self, seed: &mut dyn DynSeed<'de>) -> Result<(), Error>;
}

/// A `serde::de::EnumAccess` and, once the variant is known, its `VariantAccess`. The types have variants without data only.
pub(super) trait DynEnumAccess<'de> {
    fn variant(&mut self, seed: &mut dyn DynSeed<'de>) -> Result<(), Error>;
    fn unit_variant(&mut self) -> Result<(), Error>;
}

/// Takes what may be used once.
pub(super) fn take<T>(once: &mut Option<T>) -> Result<T, Error> {
    once.take().ok_or_else(used_twice)
}

// Not a closure: it would be compiled for each type.
#[cold]
fn used_twice() -> Error {
    Error::Custom("a deserializer, visitor or seed was used twice".to_owned())
}
