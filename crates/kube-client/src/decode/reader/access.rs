//! What stands in brackets.

use serde::de::value::{BorrowedStrDeserializer, StrDeserializer};
use serde::de::{DeserializeSeed, EnumAccess, MapAccess, SeqAccess, VariantAccess, Visitor};
use serde::{Deserializer, forward_to_deserialize_any};

use super::cursor::{Reader, Refused};
use super::text::Text;

/// The elements of an array.
pub(super) struct Elements<'r, 'de, 'a> {
    reader: &'r mut Reader<'de, 'a>,
    left: Option<usize>,
    first: bool,
    pub(super) ended: bool,
}

impl<'r, 'de, 'a> Elements<'r, 'de, 'a> {
    pub(super) fn new(reader: &'r mut Reader<'de, 'a>, length: Option<usize>) -> Self {
        Self { reader, left: length, first: true, ended: false }
    }
}

impl<'de> SeqAccess<'de> for &mut Elements<'_, 'de, '_> {
    type Error = Refused;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Refused> {
        match self.reader.peek() {
            Some(b']') => {
                self.reader.at += 1;
                self.ended = true;
                return Ok(None);
            }
            Some(b',') if !self.first => self.reader.at += 1,
            Some(_) if self.first => {}
            _ => return Err(Refused),
        }
        self.first = false;
        self.left = self.left.map(|left| left.saturating_sub(1));
        seed.deserialize(&mut *self.reader).map(Some)
    }

    fn size_hint(&self) -> Option<usize> {
        self.left
    }
}

/// The keys and values of a map.
pub(super) struct Fields<'r, 'de, 'a> {
    reader: &'r mut Reader<'de, 'a>,
    first: bool,
    pub(super) ended: bool,
    /// This map is the metadata of an object, of which a part is left out.
    within_metadata: bool,
    /// The value to come is.
    is_metadata: bool,
}

impl<'r, 'de, 'a> Fields<'r, 'de, 'a> {
    pub(super) fn new(reader: &'r mut Reader<'de, 'a>, within_metadata: bool) -> Self {
        Self { reader, first: true, ended: false, within_metadata, is_metadata: false }
    }

    /// Passes what stands before a key; whether there is one.
    fn before_key(&mut self) -> Result<bool, Refused> {
        match self.reader.peek() {
            Some(b'}') => {
                self.reader.at += 1;
                self.ended = true;
                return Ok(false);
            }
            Some(b',') if !self.first => self.reader.at += 1,
            Some(_) if self.first => {}
            _ => return Err(Refused),
        }
        self.first = false;
        self.reader.expect(b'"').map(|()| true)
    }
}

impl<'de> MapAccess<'de> for &mut Fields<'_, 'de, '_> {
    type Error = Refused;

    #[inline]
    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Refused> {
        while self.before_key()? {
            let begin = self.reader.at;
            let name = self.reader.text()?;
            if self.within_metadata && name.as_str() == "managedFields" {
                self.reader.expect(b':')?;
                self.reader.skip()?;
                continue;
            }
            let key = match name {
                Text::Plain(name) => seed.deserialize(Key::Plain(name))?,
                Text::Unescaped(name) => seed.deserialize(Key::Unescaped(name))?,
            };
            self.is_metadata = self.reader.within_pruned() && self.reader.since(begin) == "metadata\"";
            return Ok(Some(key));
        }
        Ok(None)
    }

    #[inline]
    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Refused> {
        self.reader.expect(b':')?;
        self.reader.at_metadata = self.is_metadata;
        seed.deserialize(&mut *self.reader)
    }
}

/// A key of a map.
enum Key<'de, 'b> {
    Plain(&'de str),
    Unescaped(&'b str),
}

impl<'de> Deserializer<'de> for Key<'de, '_> {
    type Error = Refused;

    #[inline]
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        match self {
            Self::Plain(name) => visitor.visit_borrowed_str(name),
            Self::Unescaped(name) => visitor.visit_str(name),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Refused> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refused> {
        match self {
            Self::Plain(name) => visitor.visit_enum(BorrowedStrDeserializer::new(name)),
            Self::Unescaped(name) => visitor.visit_enum(StrDeserializer::new(name)),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq
        tuple tuple_struct map struct identifier ignored_any
    }
}

/// A variant of an enum: the one key of a map.
pub(super) struct Variant<'r, 'de, 'a>(pub(super) &'r mut Reader<'de, 'a>);

impl<'de> EnumAccess<'de> for Variant<'_, 'de, '_> {
    type Error = Refused;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self), Refused> {
        self.0.expect(b'"')?;
        let name = match self.0.text()? {
            Text::Plain(name) => seed.deserialize(Key::Plain(name))?,
            Text::Unescaped(name) => seed.deserialize(Key::Unescaped(name))?,
        };
        self.0.expect(b':')?;
        Ok((name, self))
    }
}

impl<'de> VariantAccess<'de> for Variant<'_, 'de, '_> {
    type Error = Refused;

    fn unit_variant(self) -> Result<(), Refused> {
        self.0.peek();
        self.0.word("null")
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Refused> {
        seed.deserialize(self.0)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Refused> {
        self.0.deserialize_seq(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refused> {
        self.0.map(visitor)
    }
}
