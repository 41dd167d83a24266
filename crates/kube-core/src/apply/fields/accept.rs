//! The values that a field takes: its type, references to it, texts, options of these, and parts.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;

use super::Blank;
use crate::apply::{Field, Fields, Sparse, SparseError};

/// A value for a field, and its JSON.
pub struct Content<T> {
    pub(super) value: T,
    pub(super) json: Field,
    /// Whether `value` may have more than `json`, or less.
    pub(super) partial: bool,
}

/// `None` if the field is left out.
pub type Taken<T> = Result<Option<Content<T>>, SparseError>;

/// A value for a field of type `T` or `Option<T>`. `M` only tells the implementations apart. There is only one for `Vec` and for maps,
/// because the type of `Vec::new()` would not be known.
#[diagnostic::on_unimplemented(
    message = "a field of type `{T}` does not take `{Self}`",
    label = "expected `{T}`, `Option<{T}>` or a reference to one, found `{Self}`",
    note = "a value implements `Serialize`, and `Clone` if it is a reference; `[..values]` converts the items of a list"
)]
pub trait Accept<T, M> {
    /// The value and its JSON.
    fn take(self) -> Taken<T>;
}

/// Markers of the implementations.
pub enum Own {}
pub enum Cloned {}
pub enum Text {}
pub struct Again<M>(M);
pub struct Maybe<M>(M);
pub struct MaybeRef<M>(M);
pub struct Part<M>(M);
pub struct Each<M>(M);

#[diagnostic::do_not_recommend]
impl<T: Serialize> Accept<T, Own> for T {
    fn take(self) -> Taken<T> {
        let json = serde_json::to_value(&self).map_err(SparseError::new)?;
        Ok(Some(Content { value: self, json: Field::Value(json), partial: false }))
    }
}

#[diagnostic::do_not_recommend]
impl<T: Serialize + Clone> Accept<T, Cloned> for &T {
    fn take(self) -> Taken<T> {
        self.clone().take()
    }
}

#[diagnostic::do_not_recommend]
impl Accept<String, Text> for &str {
    fn take(self) -> Taken<String> {
        self.to_owned().take()
    }
}

#[diagnostic::do_not_recommend]
impl Accept<String, Text> for Cow<'_, str> {
    fn take(self) -> Taken<String> {
        self.into_owned().take()
    }
}

/// A reference to a reference, as iterators over references have.
#[diagnostic::do_not_recommend]
impl<'a, T, M, V: ?Sized> Accept<T, Again<M>> for &&'a V
where
    &'a V: Accept<T, M>,
{
    fn take(self) -> Taken<T> {
        (*self).take()
    }
}

#[diagnostic::do_not_recommend]
impl<T, M, V: Accept<T, M>> Accept<T, Maybe<M>> for Option<V> {
    fn take(self) -> Taken<T> {
        self.map_or(Ok(None), Accept::take)
    }
}

#[diagnostic::do_not_recommend]
impl<'a, T, M, V> Accept<T, MaybeRef<M>> for &'a Option<V>
where
    &'a V: Accept<T, M>,
{
    fn take(self) -> Taken<T> {
        self.as_ref().map_or(Ok(None), Accept::take)
    }
}

#[diagnostic::do_not_recommend]
impl<T: Blank<M>, M> Accept<T, Part<M>> for Sparse<T> {
    fn take(self) -> Taken<T> {
        let json = Field::Struct(self.into_fields()?);
        Ok(Some(Content { value: T::blank(), json, partial: true }))
    }
}

#[diagnostic::do_not_recommend]
impl<T: Blank<M>, M> Accept<T, Part<M>> for &Sparse<T> {
    fn take(self) -> Taken<T> {
        self.clone().take()
    }
}

#[diagnostic::do_not_recommend]
impl<T, M, V: Accept<T, M>, const N: usize> Accept<Vec<T>, Each<M>> for [V; N] {
    fn take(self) -> Taken<Vec<T>> {
        collect(self.into_iter())
    }
}

#[diagnostic::do_not_recommend]
impl<'a, T, M, V> Accept<Vec<T>, Each<M>> for &'a [V]
where
    &'a V: Accept<T, M>,
{
    fn take(self) -> Taken<Vec<T>> {
        collect(self.iter())
    }
}

fn collect<T, M, V: Accept<T, M>>(values: impl Iterator<Item = V>) -> Taken<Vec<T>> {
    let mut list = Content { value: Vec::new(), json: Field::Value(Value::Null), partial: false };
    let mut items = Vec::new();
    for value in values {
        if let Some(item) = value.take()? {
            list.value.push(item.value);
            list.partial |= item.partial;
            items.push(item.json.into_json());
        }
    }
    list.json = Field::Value(Value::Array(items));
    Ok(Some(list))
}

/// What `..` in the braces of a struct takes.
#[diagnostic::on_unimplemented(
    message = "`..` in the braces of `{T}` takes a `Sparse<{T}>`, found `{Self}`",
    label = "expected `Sparse<{T}>`",
    note = "braces that have nothing but `..` are those of a struct; to copy a map, write it as the value"
)]
pub trait Base<T> {
    /// Its fields.
    fn fields(self) -> Result<Fields, SparseError>;
}

#[diagnostic::do_not_recommend]
impl<T> Base<T> for Sparse<T> {
    fn fields(self) -> Result<Fields, SparseError> {
        self.into_fields()
    }
}

#[diagnostic::do_not_recommend]
impl<T> Base<T> for &Sparse<T> {
    fn fields(self) -> Result<Fields, SparseError> {
        self.clone().into_fields()
    }
}

#[diagnostic::do_not_recommend]
impl<T, B: Base<T>> Base<T> for Option<B> {
    fn fields(self) -> Result<Fields, SparseError> {
        self.map_or_else(|| Ok(Fields::default()), Base::fields)
    }
}
