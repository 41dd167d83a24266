//! Values of every type that serde knows.

use serde::Deserializer;
use serde::de::Visitor;
use serde::de::value::{BorrowedStrDeserializer, StrDeserializer};

use super::access::{Elements, Fields, Variant};
use super::cursor::{Reader, Refused};
use super::text::Text;

impl<'de> Reader<'de, '_> {
    #[inline]
    fn string<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, Refused> {
        self.expect(b'"')?;
        match self.text()? {
            Text::Plain(text) => visitor.visit_borrowed_str(text),
            Text::Unescaped(text) => visitor.visit_str(text),
        }
    }

    pub(super) fn map<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, Refused> {
        let within_metadata = std::mem::take(&mut self.at_metadata);
        if self.peek() != Some(b'{') {
            return Err(Refused);
        }
        self.open()?;
        let mut fields = Fields::new(self, within_metadata);
        let value = visitor.visit_map(&mut fields)?;
        if !fields.ended {
            return Err(Refused);
        }
        self.depth -= 1;
        Ok(value)
    }

    fn array<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, Refused> {
        if self.peek() != Some(b'[') {
            return Err(Refused);
        }
        self.at_metadata = false;
        let length = self.next_length();
        self.open()?;
        let mut elements = Elements::new(self, length);
        let value = visitor.visit_seq(&mut elements)?;
        if !elements.ended {
            // A tuple takes as many elements as it has, and asks for no end.
            self.expect(b']')?;
        }
        self.depth -= 1;
        Ok(value)
    }
}

macro_rules! numbers {
    ($($method:ident)*) => {$(
        #[inline]
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
            self.number()?.visit(visitor)
        }
    )*};
}

macro_rules! refused {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Refused> {
            Err(Refused)
        }
    )*};
}

impl<'de> Deserializer<'de> for &mut Reader<'de, '_> {
    type Error = Refused;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        match self.peek().ok_or(Refused)? {
            b'"' => self.string(visitor),
            b'{' => self.map(visitor),
            b'[' => self.array(visitor),
            b't' | b'f' => self.deserialize_bool(visitor),
            b'n' => self.deserialize_unit(visitor),
            _ => self.number()?.visit(visitor),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        match self.peek() {
            Some(b't') => self.word("true").and_then(|()| visitor.visit_bool(true)),
            Some(b'f') => self.word("false").and_then(|()| visitor.visit_bool(false)),
            _ => Err(Refused),
        }
    }

    numbers! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_f32 deserialize_f64
    }

    refused! { deserialize_i128 deserialize_u128 deserialize_bytes deserialize_byte_buf }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        self.string(visitor)
    }

    #[inline]
    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        self.string(visitor)
    }

    #[inline]
    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        self.string(visitor)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        self.string(visitor)
    }

    #[inline]
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        if self.peek() == Some(b'n') {
            self.word("null")?;
            return visitor.visit_none();
        }
        visitor.visit_some(self)
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        self.peek();
        self.word("null")?;
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Refused> {
        self.deserialize_unit(visitor)
    }

    #[inline]
    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Refused> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        self.array(visitor)
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Refused> {
        self.array(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, Refused> {
        self.array(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        self.map(visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refused> {
        self.map(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refused> {
        if self.peek() == Some(b'"') {
            self.at += 1;
            return match self.text()? {
                Text::Plain(text) => visitor.visit_enum(BorrowedStrDeserializer::new(text)),
                Text::Unescaped(text) => visitor.visit_enum(StrDeserializer::new(text)),
            };
        }
        if self.peek() != Some(b'{') {
            return Err(Refused);
        }
        self.open()?;
        let value = visitor.visit_enum(Variant(self))?;
        self.expect(b'}')?;
        self.depth -= 1;
        Ok(value)
    }

    #[inline]
    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        self.skip()?;
        visitor.visit_unit()
    }

    fn is_human_readable(&self) -> bool {
        true
    }
}
