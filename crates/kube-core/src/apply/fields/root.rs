//! The outermost struct.

use serde::Serialize;
use serde_json::Value;

use super::{Blank, Writer};
use crate::{
    Resource,
    apply::{Field, Sparse},
};

/// The struct that `apply!` writes. On the heap: futures stay small.
pub struct Root<T>(Box<T>);

impl<T> Root<T> {
    /// A blank struct.
    #[must_use]
    #[inline(never)]
    pub fn new<M>() -> Self
    where
        T: Blank<M>,
    {
        Self(Box::new(T::blank()))
    }

    /// Opens it.
    #[inline(never)]
    pub fn open(&mut self, writer: &mut Writer) -> &mut T {
        writer.open_root::<T>();
        &mut self.0
    }

    /// What was written.
    #[inline(never)]
    pub fn finish<M>(self, writer: Writer, kind: Kind) -> Sparse<T>
    where
        T: Serialize + Blank<M>,
    {
        match writer.finish(&*self.0) {
            Ok(mut fields) => {
                if let Some((api_version, kind)) = kind.0 {
                    fields.insert("apiVersion", Field::Value(Value::String(api_version)));
                    fields.insert("kind", Field::Value(Value::String(kind)));
                }
                Sparse::from_fields(fields)
            }
            Err(error) => Sparse::invalid(error),
        }
    }
}

/// `apiVersion` and `kind` of a resource.
pub struct Kind(Option<(String, String)>);

impl<T: Resource<DynamicType: Default>> Root<T> {
    /// Its API version and kind.
    #[must_use]
    #[inline(never)]
    pub fn kind(&self) -> Kind {
        let dynamic = T::DynamicType::default();
        Kind(Some((T::api_version(&dynamic).into_owned(), T::kind(&dynamic).into_owned())))
    }
}

/// For types that are no resources. Inherent methods come first in method resolution.
pub trait NoKind {
    /// Nothing.
    fn kind(&self) -> Kind {
        Kind(None)
    }
}

impl<T> NoKind for Root<T> {}
