//! Of a key that occurs twice in a mapping of YAML, the last value is read, as by kubectl.

use serde::de::{Deserializer, Visitor};
use serde::forward_to_deserialize_any;

/// Decodes maps as structs, for types with `#[serde(flatten)]`: the options of a YAML document, such as the last of equal keys, then apply.
/// serde decodes those types as maps, in which equal keys are an error.
pub(super) struct LastKeyWins<D>(pub(super) D);

impl<'de, D: Deserializer<'de>> Deserializer<'de> for LastKeyWins<D> {
    type Error = D::Error;

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_struct("", &[], visitor)
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_any(visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct newtype_struct seq tuple
        tuple_struct struct enum identifier ignored_any
    }
}

/// Implements serde's traits for types with `#[serde(remote = "Self")]`, whose derived functions they call.
macro_rules! last_key_wins {
    ($($document:ty),+ $(,)?) => {$(
        impl<'de> serde::Deserialize<'de> for $document {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                <$document>::deserialize(crate::config::kubeconfig::last_key::LastKeyWins(deserializer))
            }
        }

        impl serde::Serialize for $document {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                <$document>::serialize(self, serializer)
            }
        }
    )+};
}
pub(super) use last_key_wins;
