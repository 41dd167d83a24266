//! Looks at what a struct serializes: the name of each field, and where its value is.

use std::{any::type_name, fmt, ops::Range};

use serde::ser::{self, Impossible, Serialize, Serializer};
use serde_json::Value;

use super::{observe::Observe, written::Written};

/// What to do with the fields.
pub(super) enum Task<'a> {
    /// Find the names of these.
    Find(&'a mut [Written]),
    /// Collect all of them, with their values.
    Collect(&'a mut Vec<Observed>),
}

/// A field that was serialized.
pub(super) struct Observed {
    pub(super) key: String,
    /// `None` if it is, or has, a struct.
    pub(super) value: Option<Value>,
    /// Where it is in the struct. `None` if it is elsewhere: computed, or behind a pointer.
    pub(super) inside: Option<usize>,
    /// Whether the struct is serialized as a map: with `#[serde(flatten)]`, or by hand.
    pub(super) in_map: bool,
}

/// Serializes `it`.
pub(super) fn look<T: Serialize>(it: &T, task: Task<'_>) -> Result<(), Refused> {
    let start = std::ptr::from_ref(it).addr();
    it.serialize(&mut Names { memory: start..start + size_of::<T>(), task, in_map: false, key: None })
}

/// A serializer for one struct that does not look into its fields.
struct Names<'a> {
    memory: Range<usize>,
    task: Task<'a>,
    in_map: bool,
    /// The key of a map whose value comes next.
    key: Option<String>,
}

impl Names<'_> {
    fn field<V: ?Sized + Serialize>(&mut self, key: &str, value: &V) {
        let address = std::ptr::from_ref(value).cast::<()>().addr();
        if let Some(all) = self.see(key, address, size_of_val(value), type_name::<V>()) {
            all.value = value.serialize(Observe).ok();
        }
    }

    /// The entry that is to get the value.
    #[inline(never)]
    fn see(&mut self, key: &str, address: usize, size: usize, type_name: &str) -> Option<&mut Observed> {
        match &mut self.task {
            Task::Find(written) => {
                written.iter_mut().for_each(|field| field.compare(key, address, size, type_name));
                None
            }
            Task::Collect(all) => {
                let inside = self.memory.contains(&address) || size == 0 && address == self.memory.end;
                let inside = inside.then_some(address);
                all.push(Observed { key: key.to_owned(), value: None, inside, in_map: self.in_map });
                all.last_mut()
            }
        }
    }
}

/// Why a value is not serialized as a struct.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refused {
    /// It is something else.
    #[error("the value is not serialized as a struct")]
    NoStruct,
    /// Its `Serialize` returned this error.
    #[error("{0}")]
    Error(String),
}

impl ser::Error for Refused {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::Error(message.to_string())
    }
}

macro_rules! refuse {
    ($($name:ident($($ty:ty),*) -> $ok:ty;)*) => {
        $(fn $name(self, $(_: $ty),*) -> Result<$ok, Refused> {
            Err(Refused::NoStruct)
        })*
    };
}

impl<'n, 'a> Serializer for &'n mut Names<'a> {
    type Ok = ();
    type Error = Refused;
    type SerializeSeq = Impossible<(), Refused>;
    type SerializeTuple = Impossible<(), Refused>;
    type SerializeTupleStruct = Impossible<(), Refused>;
    type SerializeTupleVariant = Impossible<(), Refused>;
    type SerializeMap = &'n mut Names<'a>;
    type SerializeStruct = &'n mut Names<'a>;
    type SerializeStructVariant = Impossible<(), Refused>;

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, Refused> {
        Ok(self)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self, Refused> {
        self.in_map = true;
        Ok(self)
    }

    refuse! {
        serialize_bool(bool) -> ();
        serialize_i8(i8) -> ();
        serialize_i16(i16) -> ();
        serialize_i32(i32) -> ();
        serialize_i64(i64) -> ();
        serialize_u8(u8) -> ();
        serialize_u16(u16) -> ();
        serialize_u32(u32) -> ();
        serialize_u64(u64) -> ();
        serialize_f32(f32) -> ();
        serialize_f64(f64) -> ();
        serialize_char(char) -> ();
        serialize_str(&str) -> ();
        serialize_bytes(&[u8]) -> ();
        serialize_none() -> ();
        serialize_unit() -> ();
        serialize_unit_struct(&'static str) -> ();
        serialize_unit_variant(&'static str, u32, &'static str) -> ();
        serialize_seq(Option<usize>) -> Self::SerializeSeq;
        serialize_tuple(usize) -> Self::SerializeTuple;
        serialize_tuple_struct(&'static str, usize) -> Self::SerializeTupleStruct;
        serialize_tuple_variant(&'static str, u32, &'static str, usize) -> Self::SerializeTupleVariant;
        serialize_struct_variant(&'static str, u32, &'static str, usize) -> Self::SerializeStructVariant;
    }

    fn serialize_some<T: ?Sized + Serialize>(self, _: &T) -> Result<(), Refused> {
        Err(Refused::NoStruct)
    }

    fn serialize_newtype_struct<T: ?Sized + Serialize>(self, _: &'static str, _: &T) -> Result<(), Refused> {
        Err(Refused::NoStruct)
    }

    fn serialize_newtype_variant<T: ?Sized + Serialize>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<(), Refused> {
        Err(Refused::NoStruct)
    }
}

impl ser::SerializeStruct for &mut Names<'_> {
    type Ok = ();
    type Error = Refused;

    fn serialize_field<V: ?Sized + Serialize>(
        &mut self,
        key: &'static str,
        value: &V,
    ) -> Result<(), Refused> {
        self.field(key, value);
        Ok(())
    }

    fn end(self) -> Result<(), Refused> {
        Ok(())
    }
}

impl ser::SerializeMap for &mut Names<'_> {
    type Ok = ();
    type Error = Refused;

    fn serialize_key<K: ?Sized + Serialize>(&mut self, key: &K) -> Result<(), Refused> {
        self.key = match key.serialize(Observe) {
            Ok(Value::String(key)) => Some(key),
            _ => None,
        };
        Ok(())
    }

    fn serialize_value<V: ?Sized + Serialize>(&mut self, value: &V) -> Result<(), Refused> {
        if let Some(key) = self.key.take() {
            self.field(&key, value);
        }
        Ok(())
    }

    fn end(self) -> Result<(), Refused> {
        Ok(())
    }
}
