//! The JSON of a value that has no struct in it, such as what a function in `#[serde(serialize_with)]` makes of a field.
//!
//! Ends at structs, because it is compiled for the type of each field of each struct: an ordinary serializer would be compiled for all
//! types below them too.

use std::fmt;

use serde::ser::{self, Impossible, Serialize, Serializer};
use serde_json::{Map, Value};

/// The serializer.
pub(super) struct Observe;

/// The value is not observed.
#[derive(Debug, thiserror::Error)]
#[error("the value has a struct in it, or cannot be serialized")]
pub(super) struct Unobserved;

impl ser::Error for Unobserved {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self
    }
}

/// The items of a list.
#[derive(Default)]
pub(super) struct Items(Vec<Value>);

/// The entries of a map.
#[derive(Default)]
pub(super) struct Entries {
    entries: Map<String, Value>,
    key: String,
}

macro_rules! scalar {
    ($($name:ident($ty:ty);)*) => {
        $(fn $name(self, value: $ty) -> Result<Value, Unobserved> {
            Ok(Value::from(value))
        })*
    };
}

impl Serializer for Observe {
    type Ok = Value;
    type Error = Unobserved;
    type SerializeSeq = Items;
    type SerializeTuple = Items;
    type SerializeTupleStruct = Impossible<Value, Unobserved>;
    type SerializeTupleVariant = Impossible<Value, Unobserved>;
    type SerializeMap = Entries;
    type SerializeStruct = Impossible<Value, Unobserved>;
    type SerializeStructVariant = Impossible<Value, Unobserved>;

    scalar! {
        serialize_bool(bool);
        serialize_i8(i8);
        serialize_i16(i16);
        serialize_i32(i32);
        serialize_i64(i64);
        serialize_u8(u8);
        serialize_u16(u16);
        serialize_u32(u32);
        serialize_u64(u64);
        serialize_f32(f32);
        serialize_f64(f64);
        serialize_str(&str);
        serialize_bytes(&[u8]);
    }

    fn serialize_char(self, value: char) -> Result<Value, Unobserved> {
        Ok(Value::String(value.into()))
    }

    fn serialize_none(self) -> Result<Value, Unobserved> {
        Ok(Value::Null)
    }

    fn serialize_unit(self) -> Result<Value, Unobserved> {
        Ok(Value::Null)
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<Value, Unobserved> {
        Ok(Value::Null)
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        name: &'static str,
    ) -> Result<Value, Unobserved> {
        Ok(Value::from(name))
    }

    fn serialize_some<T: ?Sized + Serialize>(self, value: &T) -> Result<Value, Unobserved> {
        value.serialize(self)
    }

    fn serialize_newtype_struct<T: ?Sized + Serialize>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<Value, Unobserved> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: ?Sized + Serialize>(
        self,
        _: &'static str,
        _: u32,
        name: &'static str,
        value: &T,
    ) -> Result<Value, Unobserved> {
        let value = value.serialize(self)?;
        Ok(Value::Object([(name.to_owned(), value)].into_iter().collect()))
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Items, Unobserved> {
        Ok(Items::default())
    }

    fn serialize_tuple(self, _: usize) -> Result<Items, Unobserved> {
        Ok(Items::default())
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Entries, Unobserved> {
        Ok(Entries::default())
    }

    fn serialize_tuple_struct(
        self,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleStruct, Unobserved> {
        Err(Unobserved)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, Unobserved> {
        Err(Unobserved)
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self::SerializeStruct, Unobserved> {
        Err(Unobserved)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant, Unobserved> {
        Err(Unobserved)
    }
}

impl ser::SerializeSeq for Items {
    type Ok = Value;
    type Error = Unobserved;

    fn serialize_element<T: ?Sized + Serialize>(&mut self, value: &T) -> Result<(), Unobserved> {
        self.0.push(value.serialize(Observe)?);
        Ok(())
    }

    fn end(self) -> Result<Value, Unobserved> {
        Ok(Value::Array(self.0))
    }
}

impl ser::SerializeTuple for Items {
    type Ok = Value;
    type Error = Unobserved;

    fn serialize_element<T: ?Sized + Serialize>(&mut self, value: &T) -> Result<(), Unobserved> {
        ser::SerializeSeq::serialize_element(self, value)
    }

    fn end(self) -> Result<Value, Unobserved> {
        ser::SerializeSeq::end(self)
    }
}

impl ser::SerializeMap for Entries {
    type Ok = Value;
    type Error = Unobserved;

    fn serialize_key<T: ?Sized + Serialize>(&mut self, key: &T) -> Result<(), Unobserved> {
        match key.serialize(Observe)? {
            Value::String(key) => self.key = key,
            Value::Number(key) => self.key = key.to_string(),
            _ => return Err(Unobserved),
        }
        Ok(())
    }

    fn serialize_value<T: ?Sized + Serialize>(&mut self, value: &T) -> Result<(), Unobserved> {
        self.entries.insert(std::mem::take(&mut self.key), value.serialize(Observe)?);
        Ok(())
    }

    fn end(self) -> Result<Value, Unobserved> {
        Ok(Value::Object(self.entries))
    }
}
