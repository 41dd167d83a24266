//! A wrapper around any deserializer, and around all that it hands out.

use std::fmt;
use std::marker::PhantomData;
use std::slice::Iter;

use serde::de::value::{BorrowedStrDeserializer, StrDeserializer};
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, EnumAccess, Error, IgnoredAny, MapAccess, SeqAccess,
    VariantAccess, Visitor,
};

use serde_json::value::RawValue;

use crate::decode::lengths::arrays_in;
use crate::decode::prune::Level;

/// What is known of a value before it is read.
pub(super) struct Guide<'g, 'l> {
    /// How long the arrays are that are still to come; nothing where that is not known.
    pub(super) lengths: &'g mut Iter<'l, u32>,
    /// Which part of an object the value is, where a part is left out.
    pub(super) level: Option<Level>,
}

impl<'l> Guide<'_, 'l> {
    /// For a value within this one.
    #[inline]
    fn within(&mut self, level: Option<Level>) -> Guide<'_, 'l> {
        Guide { lengths: self.lengths, level }
    }
}

/// A deserializer, visitor, seed or enum access that keeps the guide with what it reads.
pub(super) struct Guided<'g, 'l, T> {
    pub(super) inner: T,
    pub(super) guide: Guide<'g, 'l>,
}

/// Methods whose visitors may be shown maps or arrays.
macro_rules! guided {
    ($($method:ident($($name:ident: $type:ty),*))*) => {$(
        #[inline]
        fn $method<V: Visitor<'de>>(self, $($name: $type,)* visitor: V) -> Result<V::Value, D::Error> {
            self.inner.$method($($name,)* Guided { inner: visitor, guide: self.guide })
        }
    )*};
}

/// Methods whose visitors may not.
macro_rules! passed_on {
    ($($method:ident)*) => {$(
        #[inline]
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
            self.inner.$method(visitor)
        }
    )*};
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Guided<'_, '_, D> {
    type Error = D::Error;

    guided! {
        deserialize_any() deserialize_option() deserialize_seq() deserialize_map()
        deserialize_tuple(len: usize) deserialize_tuple_struct(name: &'static str, len: usize)
        deserialize_unit_struct(name: &'static str)
        deserialize_struct(name: &'static str, fields: &'static [&'static str])
        deserialize_enum(name: &'static str, variants: &'static [&'static str])
        deserialize_bytes() deserialize_byte_buf()
    }

    passed_on! {
        deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128
        deserialize_f32 deserialize_f64 deserialize_char deserialize_str deserialize_string
        deserialize_unit deserialize_identifier
    }

    /// Arrays that nobody reads have lengths too. Like serde_json, this does not mind how deep they are.
    #[inline]
    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        if self.guide.lengths.as_slice().is_empty() {
            return self.inner.deserialize_ignored_any(visitor);
        }
        self.text()?;
        visitor.visit_unit()
    }

    /// What is kept as text, arrays and all, is such a struct to serde_json. It is read a second time, for nobody else can make one.
    #[inline]
    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        if name == RAW_VALUE && !self.guide.lengths.as_slice().is_empty() {
            let mut raw = serde_json::Deserializer::from_str(self.text()?);
            return raw.deserialize_newtype_struct(name, visitor).map_err(D::Error::custom);
        }
        self.inner.deserialize_newtype_struct(name, Guided { inner: visitor, guide: self.guide })
    }

    fn is_human_readable(&self) -> bool {
        self.inner.is_human_readable()
    }
}

impl<'de, D: Deserializer<'de>> Guided<'_, '_, D> {
    /// The whole value as text. The arrays in it are passed over.
    fn text(self) -> Result<&'de str, D::Error> {
        let text = <&RawValue>::deserialize(self.inner)?.get();
        if let Some(last) = arrays_in(text).checked_sub(1) {
            self.guide.lengths.nth(last);
        }
        Ok(text)
    }
}

/// How serde_json knows its [`RawValue`] when one is asked for.
const RAW_VALUE: &str = "$serde_json::private::RawValue";

macro_rules! scalars {
    ($($method:ident: $type:ty,)*) => {$(
        #[inline]
        fn $method<E: Error>(self, value: $type) -> Result<V::Value, E> {
            self.inner.$method(value)
        }
    )*};
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Guided<'_, '_, V> {
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

    #[inline]
    fn visit_some<D: Deserializer<'de>>(self, inner: D) -> Result<V::Value, D::Error> {
        self.inner.visit_some(Guided { inner, guide: self.guide })
    }

    #[inline]
    fn visit_newtype_struct<D: Deserializer<'de>>(self, inner: D) -> Result<V::Value, D::Error> {
        self.inner.visit_newtype_struct(Guided { inner, guide: self.guide })
    }

    #[inline]
    fn visit_seq<A: SeqAccess<'de>>(self, inner: A) -> Result<V::Value, A::Error> {
        let left = self.guide.lengths.next().and_then(|length| usize::try_from(*length).ok());
        self.inner.visit_seq(Elements { inner, guide: self.guide, left })
    }

    #[inline]
    fn visit_map<A: MapAccess<'de>>(self, inner: A) -> Result<V::Value, A::Error> {
        self.inner.visit_map(Fields { inner, guide: self.guide, value: None })
    }

    fn visit_enum<A: EnumAccess<'de>>(self, inner: A) -> Result<V::Value, A::Error> {
        self.inner.visit_enum(Guided { inner, guide: self.guide })
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Guided<'_, '_, S> {
    type Value = S::Value;

    #[inline]
    fn deserialize<D: Deserializer<'de>>(self, inner: D) -> Result<S::Value, D::Error> {
        self.inner.deserialize(Guided { inner, guide: self.guide })
    }
}

impl<'de, 'g, 'l, A: EnumAccess<'de>> EnumAccess<'de> for Guided<'g, 'l, A> {
    type Error = A::Error;
    type Variant = Guided<'g, 'l, A::Variant>;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self::Variant), A::Error> {
        let (name, inner) = self.inner.variant_seed(seed)?;
        Ok((name, Guided { inner, guide: self.guide }))
    }
}

impl<'de, A: VariantAccess<'de>> VariantAccess<'de> for Guided<'_, '_, A> {
    type Error = A::Error;

    fn unit_variant(self) -> Result<(), A::Error> {
        self.inner.unit_variant()
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, A::Error> {
        self.inner.newtype_variant_seed(Guided { inner: seed, guide: self.guide })
    }

    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, A::Error> {
        self.inner.tuple_variant(len, Guided { inner: visitor, guide: self.guide })
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        self.inner.struct_variant(fields, Guided { inner: visitor, guide: self.guide })
    }
}

/// The elements of an array.
struct Elements<'g, 'l, A> {
    inner: A,
    guide: Guide<'g, 'l>,
    /// Elements still to come, where that is known.
    left: Option<usize>,
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Elements<'_, '_, A> {
    type Error = A::Error;

    #[inline]
    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        self.left = self.left.map(|left| left.saturating_sub(1));
        self.inner.next_element_seed(Guided { inner: seed, guide: self.guide.within(None) })
    }

    fn size_hint(&self) -> Option<usize> {
        self.left
    }
}

/// The keys and values of a map.
struct Fields<'g, 'l, A> {
    inner: A,
    guide: Guide<'g, 'l>,
    /// Which part of an object the value to come is.
    value: Option<Level>,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Fields<'_, '_, A> {
    type Error = A::Error;

    #[inline]
    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        let Some(level) = self.guide.level else { return self.inner.next_key_seed(seed) };
        let mut seed = Some(seed);
        loop {
            let name = Name { seed: &mut seed, level, value: &mut self.value };
            match self.inner.next_key_seed(name)? {
                Some(Some(key)) => return Ok(Some(key)),
                Some(None) => {
                    let guide = self.guide.within(None);
                    self.inner.next_value_seed(Guided { inner: PhantomData::<IgnoredAny>, guide })?;
                }
                None => return Ok(None),
            }
        }
    }

    #[inline]
    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        self.inner.next_value_seed(Guided { inner: seed, guide: self.guide.within(self.value) })
    }
}

/// The seed of a key that decides what becomes of the value: none where it is passed over, and then the seed is still there.
struct Name<'n, S> {
    seed: &'n mut Option<S>,
    level: Level,
    value: &'n mut Option<Level>,
}

impl<S> Name<'_, S> {
    #[inline]
    fn wanted(self, name: &str) -> Option<S> {
        *self.value = self.level.of_field(name);
        if self.level.is_passed_over(name) { None } else { self.seed.take() }
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Name<'_, S> {
    type Value = Option<S::Value>;

    #[inline]
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de, S: DeserializeSeed<'de>> Visitor<'de> for Name<'_, S> {
    type Value = Option<S::Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a field")
    }

    #[inline]
    fn visit_borrowed_str<E: Error>(self, name: &'de str) -> Result<Self::Value, E> {
        self.wanted(name).map(|seed| seed.deserialize(BorrowedStrDeserializer::new(name))).transpose()
    }

    #[inline]
    fn visit_str<E: Error>(self, name: &str) -> Result<Self::Value, E> {
        self.wanted(name).map(|seed| seed.deserialize(StrDeserializer::new(name))).transpose()
    }
}
