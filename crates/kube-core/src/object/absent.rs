//! Reads a field that is not there.

use std::marker::PhantomData;

use serde::{Deserializer, de, forward_to_deserialize_any};

/// A field that is not there: nothing to types that can be nothing, an error naming the field to all others.
pub(super) struct Absent<E> {
    field: &'static str,
    error: PhantomData<E>,
}

impl<E> Absent<E> {
    pub(super) fn new(field: &'static str) -> Self {
        Self { field, error: PhantomData }
    }
}

impl<'de, E: de::Error> Deserializer<'de> for Absent<E> {
    type Error = E;

    fn deserialize_any<V: de::Visitor<'de>>(self, _: V) -> Result<V::Value, E> {
        Err(E::missing_field(self.field))
    }

    fn deserialize_option<V: de::Visitor<'de>>(self, visitor: V) -> Result<V::Value, E> {
        visitor.visit_none()
    }

    fn deserialize_ignored_any<V: de::Visitor<'de>>(self, visitor: V) -> Result<V::Value, E> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier
    }
}
