//! A wrapper around a deserializer, and around the visitors, seeds and accesses that it passes on.

use std::fmt;
use std::iter::once;
use std::marker::PhantomData;
use std::slice::Iter;

use serde::de::value::{BorrowedStrDeserializer, MapDeserializer};
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, EnumAccess, Error, IgnoredAny, MapAccess, SeqAccess,
    VariantAccess, Visitor,
};
use serde_json::value::RawValue;

use super::map_key::{KeyDeserializer, MapKey};
use super::prune::{PrunedField, PrunedFields};
use crate::decode::split::arrays_in;

/// What is known of a value before it is decoded.
pub(super) struct Hints<'g, 'l> {
    /// The lengths of the arrays still to come; empty if they are not known.
    pub(super) lengths: &'g mut Iter<'l, u32>,
    /// The fields of the value that are skipped; `None` if there are none.
    pub(super) pruned: Option<&'l PrunedFields>,
    /// Whether this is the whole value, after which no lengths are needed.
    pub(super) whole: bool,
}

impl<'l> Hints<'_, 'l> {
    /// Whether the lengths in this value must be consumed, because more may follow.
    fn needed(&self) -> bool {
        !self.whole && !self.lengths.as_slice().is_empty()
    }

    /// The hints for a nested value.
    fn nested(&mut self, pruned: Option<&'l PrunedFields>) -> Hints<'_, 'l> {
        Hints { lengths: self.lengths, pruned, whole: false }
    }
}

/// A deserializer, visitor, seed or enum access with hints.
pub(super) struct Hinted<'g, 'l, T> {
    pub(super) inner: T,
    pub(super) hints: Hints<'g, 'l>,
}

/// Methods whose visitors may receive maps or arrays.
macro_rules! hinted {
    ($($method:ident($($name:ident: $type:ty),*))*) => {$(
        fn $method<V: Visitor<'de>>(self, $($name: $type,)* visitor: V) -> Result<V::Value, D::Error> {
            self.inner.$method($($name,)* Hinted { inner: visitor, hints: self.hints })
        }
    )*};
}

/// Methods whose visitors receive neither.
macro_rules! forwarded {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
            self.inner.$method(visitor)
        }
    )*};
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Hinted<'_, '_, D> {
    type Error = D::Error;

    hinted! {
        deserialize_any() deserialize_option() deserialize_seq() deserialize_map()
        deserialize_tuple(len: usize) deserialize_tuple_struct(name: &'static str, len: usize)
        deserialize_unit_struct(name: &'static str)
        deserialize_struct(name: &'static str, fields: &'static [&'static str])
        deserialize_enum(name: &'static str, variants: &'static [&'static str])
        deserialize_bytes() deserialize_byte_buf()
    }

    forwarded! {
        deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128
        deserialize_f32 deserialize_f64 deserialize_char deserialize_str deserialize_string
        deserialize_unit deserialize_identifier
    }

    /// Consumes the lengths of ignored arrays. As in serde_json, ignored values may be nested to any depth.
    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        if !self.hints.needed() {
            return self.inner.deserialize_ignored_any(visitor);
        }
        self.text()?;
        visitor.visit_unit()
    }

    /// serde_json requests a [`RawValue`] as a newtype struct of a special name, and builds it from a map with one entry.
    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        if name == RAW_VALUE {
            let text = BorrowedStrDeserializer::new(self.text()?);
            return visitor.visit_map(MapDeserializer::new(once((RAW_VALUE, text))));
        }
        self.inner.deserialize_newtype_struct(name, Hinted { inner: visitor, hints: self.hints })
    }

    fn is_human_readable(&self) -> bool {
        self.inner.is_human_readable()
    }
}

impl<'de, D: Deserializer<'de>> Hinted<'_, '_, D> {
    /// The whole value as text. Consumes the lengths of the arrays in it.
    fn text(self) -> Result<&'de str, D::Error> {
        let text = <&RawValue>::deserialize(self.inner)?.get();
        let arrays = if self.hints.needed() { arrays_in(text) } else { 0 };
        if let Some(last) = arrays.checked_sub(1) {
            self.hints.lengths.nth(last);
        }
        Ok(text)
    }
}

/// The name by which serde_json recognizes a [`RawValue`].
const RAW_VALUE: &str = "$serde_json::private::RawValue";

macro_rules! scalars {
    ($($method:ident: $type:ty,)*) => {$(
        fn $method<E: Error>(self, value: $type) -> Result<V::Value, E> {
            self.inner.$method(value)
        }
    )*};
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Hinted<'_, '_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.expecting(f)
    }

    scalars! {
        visit_bool: bool, visit_i64: i64, visit_i128: i128, visit_u64: u64, visit_u128: u128, visit_f64: f64,
        visit_str: &str, visit_borrowed_str: &'de str, visit_string: String,
        visit_bytes: &[u8], visit_borrowed_bytes: &'de [u8], visit_byte_buf: Vec<u8>,
    }

    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_none()
    }

    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, inner: D) -> Result<V::Value, D::Error> {
        self.inner.visit_some(Hinted { inner, hints: self.hints })
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, inner: D) -> Result<V::Value, D::Error> {
        self.inner.visit_newtype_struct(Hinted { inner, hints: self.hints })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, inner: A) -> Result<V::Value, A::Error> {
        let remaining = self.hints.lengths.next().and_then(|length| usize::try_from(*length).ok());
        self.inner.visit_seq(Elements { inner, hints: self.hints, remaining })
    }

    fn visit_map<A: MapAccess<'de>>(self, inner: A) -> Result<V::Value, A::Error> {
        self.inner.visit_map(Fields { inner, hints: self.hints, value: None })
    }

    fn visit_enum<A: EnumAccess<'de>>(self, inner: A) -> Result<V::Value, A::Error> {
        self.inner.visit_enum(Hinted { inner, hints: self.hints })
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Hinted<'_, '_, S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, inner: D) -> Result<S::Value, D::Error> {
        self.inner.deserialize(Hinted { inner, hints: self.hints })
    }
}

impl<'de, 'g, 'l, A: EnumAccess<'de>> EnumAccess<'de> for Hinted<'g, 'l, A> {
    type Error = A::Error;
    type Variant = Hinted<'g, 'l, A::Variant>;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self::Variant), A::Error> {
        let (name, inner) = self.inner.variant_seed(seed)?;
        Ok((name, Hinted { inner, hints: self.hints }))
    }
}

impl<'de, A: VariantAccess<'de>> VariantAccess<'de> for Hinted<'_, '_, A> {
    type Error = A::Error;

    fn unit_variant(self) -> Result<(), A::Error> {
        self.inner.unit_variant()
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, A::Error> {
        self.inner.newtype_variant_seed(Hinted { inner: seed, hints: self.hints })
    }

    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, A::Error> {
        self.inner.tuple_variant(len, Hinted { inner: visitor, hints: self.hints })
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        self.inner.struct_variant(fields, Hinted { inner: visitor, hints: self.hints })
    }
}

/// The elements of an array.
struct Elements<'g, 'l, A> {
    inner: A,
    hints: Hints<'g, 'l>,
    /// The number of elements still to come, if known.
    remaining: Option<usize>,
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Elements<'_, '_, A> {
    type Error = A::Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        self.remaining = self.remaining.map(|remaining| remaining.saturating_sub(1));
        let pruned = self.hints.pruned;
        self.inner.next_element_seed(Hinted { inner: seed, hints: self.hints.nested(pruned) })
    }

    fn size_hint(&self) -> Option<usize> {
        self.remaining
    }
}

/// The keys and values of a map.
struct Fields<'g, 'l, A> {
    inner: A,
    hints: Hints<'g, 'l>,
    /// What is skipped of the next value.
    value: Option<&'l PrunedFields>,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Fields<'_, '_, A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        let Some(pruned) = self.hints.pruned else { return self.inner.next_key_seed(seed) };
        let mut seed = Some(seed);
        loop {
            let name = KeySeed { seed: &mut seed, pruned, value: &mut self.value };
            match self.inner.next_key_seed(name)? {
                Some(Some(key)) => return Ok(Some(key)),
                Some(None) => {
                    let hints = self.hints.nested(None);
                    self.inner.next_value_seed(Hinted { inner: PhantomData::<IgnoredAny>, hints })?;
                }
                None => return Ok(None),
            }
        }
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        self.inner.next_value_seed(Hinted { inner: seed, hints: self.hints.nested(self.value) })
    }
}

/// The seed of a key. It returns `None` for a skipped field and leaves `seed` in place.
struct KeySeed<'n, 'l, S> {
    seed: &'n mut Option<S>,
    pruned: &'l PrunedFields,
    value: &'n mut Option<&'l PrunedFields>,
}

impl<S> KeySeed<'_, '_, S> {
    fn take_seed(self, name: &str) -> Option<S> {
        *self.value = match self.pruned.get(name) {
            None => None,
            Some(PrunedField::Within(fields)) => Some(fields),
            Some(PrunedField::Skipped) => return None,
        };
        self.seed.take()
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for KeySeed<'_, '_, S> {
    type Value = Option<S::Value>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de, S: DeserializeSeed<'de>> Visitor<'de> for KeySeed<'_, '_, S> {
    type Value = Option<S::Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a field")
    }

    fn visit_borrowed_str<E: Error>(self, name: &'de str) -> Result<Self::Value, E> {
        let key = KeyDeserializer::new(MapKey::Borrowed(name));
        self.take_seed(name).map(|seed| seed.deserialize(key)).transpose()
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Self::Value, E> {
        let key = KeyDeserializer::new(MapKey::Transient(name));
        self.take_seed(name).map(|seed| seed.deserialize(key)).transpose()
    }
}
