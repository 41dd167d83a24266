//! The side of the format: the one visitor and the one seed that it sees, and what it passes to them, behind `dyn`.

use std::fmt;

use serde::de::{
    self, DeserializeSeed, Deserializer, EnumAccess, MapAccess, SeqAccess, VariantAccess, Visitor,
};

use super::dynamic::{
    DynDeserializer, DynEnumAccess, DynMapAccess, DynSeed, DynSeqAccess, DynVisitor, Found, Hint, take,
};
use super::error::Error;

/// The visitor of every type.
struct VisitorRef<'a, 'de>(&'a mut dyn DynVisitor<'de>);

/// The seed of every type.
pub(super) struct SeedRef<'a, 'de>(pub(super) &'a mut dyn DynSeed<'de>);

/// A deserializer, list, map or enum of the format, with the last error that it returned.
struct Held<T, E> {
    inner: T,
    error: Option<E>,
}

impl<T, E: de::Error> Held<T, E> {
    fn new(inner: T) -> Self {
        Self { inner, error: None }
    }

    /// Keeps the error of the format, whose type is known only here, with its position.
    fn keep<V>(&mut self, result: Result<V, E>) -> Result<V, Error> {
        result.map_err(|err| {
            let text = err.to_string();
            self.error = Some(err);
            Error::Format(text)
        })
    }

    /// The error of the format, for that of the type.
    fn finish(self, result: Result<(), Error>) -> Result<(), E> {
        result.map_err(|err| err.into_format(self.error))
    }
}

impl<'de> VisitorRef<'_, 'de> {
    fn visit_scalar<E: de::Error>(self, scalar: Found<'_, 'de>) -> Result<(), E> {
        self.0.visit(scalar).map_err(|err| err.into_format(None))
    }
}

impl<'de> DeserializeSeed<'de> for SeedRef<'_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        let mut held = Held::new(Some(deserializer));
        let result = self.0.deserialize(&mut held);
        held.finish(result)
    }
}

impl<'de> Visitor<'de> for VisitorRef<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(f)
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<(), E> {
        self.visit_scalar(Found::Bool(value))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<(), E> {
        self.visit_scalar(Found::I64(value))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<(), E> {
        self.visit_scalar(Found::U64(value))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<(), E> {
        self.visit_scalar(Found::F64(value))
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<(), E> {
        self.visit_scalar(Found::Str(value))
    }

    fn visit_none<E: de::Error>(self) -> Result<(), E> {
        self.visit_scalar(Found::None)
    }

    fn visit_unit<E: de::Error>(self) -> Result<(), E> {
        self.visit_scalar(Found::Unit)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        let mut held = Held::new(Some(deserializer));
        let result = self.0.visit(Found::Some(&mut held));
        held.finish(result)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, access: A) -> Result<(), A::Error> {
        let mut held = Held::new(access);
        let result = self.0.visit(Found::Seq(&mut held));
        held.finish(result)
    }

    fn visit_map<A: MapAccess<'de>>(self, access: A) -> Result<(), A::Error> {
        let mut held = Held::new(access);
        let result = self.0.visit(Found::Map(&mut held));
        held.finish(result)
    }

    fn visit_enum<A: EnumAccess<'de>>(self, access: A) -> Result<(), A::Error> {
        let mut held = Held::new((Some(access), None));
        let result = self.0.visit(Found::Enum(&mut held));
        held.finish(result)
    }
}

impl<'de, D: Deserializer<'de>> DynDeserializer<'de> for Held<Option<D>, D::Error> {
    fn deserialize(&mut self, hint: Hint, visitor: &mut dyn DynVisitor<'de>) -> Result<(), Error> {
        let deserializer = take(&mut self.inner)?;
        let visitor = VisitorRef(visitor);
        let result = match hint {
            Hint::Any => deserializer.deserialize_any(visitor),
            Hint::Bool => deserializer.deserialize_bool(visitor),
            Hint::Str => deserializer.deserialize_str(visitor),
            Hint::String => deserializer.deserialize_string(visitor),
            Hint::Option => deserializer.deserialize_option(visitor),
            Hint::Seq => deserializer.deserialize_seq(visitor),
            Hint::Map => deserializer.deserialize_map(visitor),
            Hint::Identifier => deserializer.deserialize_identifier(visitor),
            Hint::IgnoredAny => deserializer.deserialize_ignored_any(visitor),
            Hint::Struct { name, fields } => deserializer.deserialize_struct(name, fields, visitor),
            Hint::Enum { name, variants } => deserializer.deserialize_enum(name, variants, visitor),
        };
        self.keep(result)
    }
}

impl<'de, A: SeqAccess<'de>> DynSeqAccess<'de> for Held<A, A::Error> {
    fn next_element(&mut self, seed: &mut dyn DynSeed<'de>) -> Result<(), Error> {
        let result = self.inner.next_element_seed(SeedRef(seed));
        self.keep(result).map(drop)
    }
}

impl<'de, A: MapAccess<'de>> DynMapAccess<'de> for Held<A, A::Error> {
    fn next_key(&mut self, seed: &mut dyn DynSeed<'de>) -> Result<(), Error> {
        let result = self.inner.next_key_seed(SeedRef(seed));
        self.keep(result).map(drop)
    }

    fn next_value(&mut self, seed: &mut dyn DynSeed<'de>) -> Result<(), Error> {
        let result = self.inner.next_value_seed(SeedRef(seed));
        self.keep(result)
    }
}

impl<'de, A: EnumAccess<'de>> DynEnumAccess<'de> for Held<(Option<A>, Option<A::Variant>), A::Error> {
    fn variant(&mut self, seed: &mut dyn DynSeed<'de>) -> Result<(), Error> {
        let result = take(&mut self.inner.0)?.variant_seed(SeedRef(seed));
        let ((), variant) = self.keep(result)?;
        self.inner.1 = Some(variant);
        Ok(())
    }

    fn unit_variant(&mut self) -> Result<(), Error> {
        let result = take(&mut self.inner.1)?.unit_variant();
        self.keep(result)
    }
}
