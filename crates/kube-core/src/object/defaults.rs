//! Fills in the `apiVersion` and `kind` that servers omit in list items.

use std::{fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, Error, MapAccess, Visitor, value::StrDeserializer},
    forward_to_deserialize_any,
};

use crate::type_meta::TypeMeta;

/// The `apiVersion` and `kind` for items of a list that have none of their own.
///
/// Servers omit both in the items of lists of built-in kinds. For code that decodes a list item by item;
/// [`ObjectList`](super::ObjectList) already uses it.
///
/// ```
/// use kube_core::{DynamicObject, TypeMeta, object::DefaultTypes};
/// use serde::de::DeserializeSeed;
///
/// let list = TypeMeta { api_version: "v1".into(), kind: "PodList".into() };
/// let defaults = DefaultTypes::of_list(&list);
/// let mut json = serde_json::Deserializer::from_str(r#"{"metadata": {"name": "web-0"}}"#);
/// let item: DynamicObject = defaults.seed().deserialize(&mut json)?;
/// assert_eq!(item.types.expect("filled in").kind, "Pod");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct DefaultTypes(Option<TypeMeta>);

impl DefaultTypes {
    /// The type of the items of a list of this type: its kind without the suffix `List`. None if nothing precedes the suffix:
    /// a `v1 List` holds items of any kind.
    pub fn of_list(list: &TypeMeta) -> Self {
        let item =
            list.kind.strip_suffix("List").filter(|kind| !kind.is_empty() && !list.api_version.is_empty());
        Self(item.map(|kind| TypeMeta { api_version: list.api_version.clone(), kind: kind.into() }))
    }

    /// Decodes one item, in one pass.
    ///
    /// The item's own `apiVersion` and `kind` have precedence. A struct whose `Deserialize` lists its fields gets the two keys
    /// only if they are among them.
    pub fn seed<'a, 'de, T: Deserialize<'de>>(
        &'a self,
    ) -> impl DeserializeSeed<'de, Value = T> + use<'a, 'de, T> {
        ItemSeed { types: self.0.as_ref(), item: PhantomData }
    }
}

struct ItemSeed<'a, T> {
    types: Option<&'a TypeMeta>,
    item: PhantomData<T>,
}

impl<'de, T: Deserialize<'de>> DeserializeSeed<'de> for ItemSeed<'_, T> {
    type Value = T;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        match self.types {
            Some(types) => T::deserialize(WithTypes { inner: deserializer, types }),
            None => T::deserialize(deserializer),
        }
    }
}

/// A deserializer that appends the missing type fields to the top-level map.
struct WithTypes<'a, D> {
    inner: D,
    types: &'a TypeMeta,
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for WithTypes<'_, D> {
    type Error = D::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.inner.deserialize_any(WithTypesVisitor { visitor, types: self.types })
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.inner.deserialize_map(WithTypesVisitor { visitor, types: self.types })
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        if fields.contains(&"apiVersion") && fields.contains(&"kind") {
            self.inner.deserialize_struct(name, fields, WithTypesVisitor { visitor, types: self.types })
        } else {
            self.inner.deserialize_struct(name, fields, visitor)
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.inner.deserialize_newtype_struct(name, WithTypesVisitor { visitor, types: self.types })
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.inner.deserialize_option(WithTypesVisitor { visitor, types: self.types })
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.inner.deserialize_enum(name, variants, visitor)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.inner.deserialize_ignored_any(visitor)
    }

    // No API object has one of these shapes: the visitor reports the mismatch.
    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq
        tuple tuple_struct identifier
    }
}

struct WithTypesVisitor<'a, V> {
    visitor: V,
    types: &'a TypeMeta,
}

impl<'de, V: Visitor<'de>> Visitor<'de> for WithTypesVisitor<'_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.visitor.expecting(f)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<V::Value, A::Error> {
        self.visitor.visit_map(WithTypesMap {
            inner: map,
            seen: SeenKeys::default(),
            pending: None,
            types: self.types,
        })
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        self.visitor.visit_newtype_struct(WithTypes { inner: deserializer, types: self.types })
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        self.visitor.visit_some(WithTypes { inner: deserializer, types: self.types })
    }

    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.visitor.visit_none()
    }

    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.visitor.visit_unit()
    }
}

#[derive(Default)]
struct SeenKeys {
    api_version: bool,
    kind: bool,
}

impl SeenKeys {
    fn record(&mut self, key: &str) {
        self.api_version |= key == "apiVersion";
        self.kind |= key == "kind";
    }
}

/// The inner map, followed by the type fields that it lacks.
struct WithTypesMap<'a, A> {
    inner: A,
    seen: SeenKeys,
    pending: Option<&'a str>,
    types: &'a TypeMeta,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for WithTypesMap<'_, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        // The inner map has ended once the first default is pending, and must not be polled again.
        let ended = self.pending.is_some();
        let mut seed = Some(seed);
        if !ended {
            let key_seed = RecordingKeySeed { seed: &mut seed, seen: &mut self.seen };
            if let Some(key) = self.inner.next_key_seed(key_seed)? {
                return Ok(Some(key));
            }
        }
        let (name, value) = if !self.seen.api_version {
            ("apiVersion", &self.types.api_version)
        } else if !self.seen.kind {
            ("kind", &self.types.kind)
        } else {
            return Ok(None);
        };
        self.seen.record(name);
        self.pending = Some(value);
        match seed {
            Some(seed) => seed.deserialize(StrDeserializer::new(name)).map(Some),
            None => Err(A::Error::custom("the map consumed a key and returned none")),
        }
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        match self.pending {
            Some(value) => seed.deserialize(StrDeserializer::new(value)),
            None => self.inner.next_value_seed(seed),
        }
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}

/// Forwards a key to its seed and records whether it is one of the type fields.
struct RecordingKeySeed<'a, K> {
    // Taken if there is a key; otherwise left for the defaults.
    seed: &'a mut Option<K>,
    seen: &'a mut SeenKeys,
}

impl<'de, K: DeserializeSeed<'de>> DeserializeSeed<'de> for RecordingKeySeed<'_, K> {
    type Value = K::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<K::Value, D::Error> {
        let seed = self.seed.take().ok_or_else(|| D::Error::custom("a key was read twice"))?;
        seed.deserialize(Key { inner: deserializer, seen: self.seen })
    }
}

struct Key<'a, D> {
    inner: D,
    seen: &'a mut SeenKeys,
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Key<'_, D> {
    type Error = D::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.inner.deserialize_any(KeyVisitor { visitor, seen: self.seen })
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.inner.deserialize_newtype_struct(name, KeyVisitor { visitor, seen: self.seen })
    }

    // JSON keys are strings, whatever type the seed requests.
    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

struct KeyVisitor<'a, V> {
    visitor: V,
    seen: &'a mut SeenKeys,
}

impl<'de, V: Visitor<'de>> Visitor<'de> for KeyVisitor<'_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.visitor.expecting(f)
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<V::Value, E> {
        self.seen.record(key);
        self.visitor.visit_str(key)
    }

    fn visit_borrowed_str<E: Error>(self, key: &'de str) -> Result<V::Value, E> {
        self.seen.record(key);
        self.visitor.visit_borrowed_str(key)
    }

    fn visit_string<E: Error>(self, key: String) -> Result<V::Value, E> {
        self.seen.record(&key);
        self.visitor.visit_string(key)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        self.visitor.visit_newtype_struct(Key { inner: deserializer, seen: self.seen })
    }
}
