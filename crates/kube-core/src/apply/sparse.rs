//! [`Sparse`]: an apply configuration that has exactly the fields that were written.

use std::{collections::BTreeMap, fmt, marker::PhantomData, sync::Arc};

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

/// Some fields of a `T`: exactly those that were written. The others are absent, not empty or default.
///
/// It is what server-side apply needs: the server makes the field manager the owner of every field that it is sent, so a full `T`, with
/// its empty strings and lists, claims more than was meant. The macro `kube::apply!` writes one, `extract` reads one
/// from an object, `Api::apply` sends one.
///
/// # Errors
///
/// A value that could not be made carries its error: [`json`](Self::json), serializing and sending it fail with that error, and never
/// with a wrong configuration.
pub struct Sparse<T> {
    content: Result<Fields, SparseError>,
    of: PhantomData<fn() -> T>,
}

/// The fields of a [`Sparse`], by their names on the wire.
#[doc(hidden)]
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fields(BTreeMap<String, Field>);

/// The value of a field: what [`Sparse::merge`] merges, or what it replaces as a whole.
#[doc(hidden)]
#[derive(Clone, Debug, PartialEq)]
pub enum Field {
    /// A struct of which some fields are written.
    Struct(Fields),
    /// Anything else: a scalar, a list, a map with free keys, a whole typed value.
    Value(Value),
}

/// Why a [`Sparse`] has no valid content. The text names the field.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SparseError(Arc<str>);

impl SparseError {
    #[doc(hidden)]
    pub fn new(message: impl fmt::Display) -> Self {
        Self(message.to_string().into())
    }
}

impl<T> Sparse<T> {
    #[doc(hidden)]
    pub fn from_fields(fields: impl Into<Fields>) -> Self {
        Self { content: Ok(fields.into()), of: PhantomData }
    }

    #[doc(hidden)]
    pub fn invalid(error: SparseError) -> Self {
        Self { content: Err(error), of: PhantomData }
    }

    #[doc(hidden)]
    pub fn into_fields(self) -> Result<Fields, SparseError> {
        self.content
    }

    /// The fields as one JSON object. O(size).
    ///
    /// # Errors
    ///
    /// If the names of its fields, or their values, could not be determined when it was made.
    pub fn json(&self) -> Result<Value, SparseError> {
        self.content.as_ref().map(Fields::json).map_err(Clone::clone)
    }

    /// The fields of both. Where both have a field, that of `other` is used; of a struct, both may have some fields each.
    ///
    /// Lists and maps with free keys, such as labels, are values as a whole: those of `other` replace the former ones. In a value from
    /// `extract` every JSON object counts as a struct, because managed fields do not tell a map from a struct: then
    /// the keys of two extracted maps are united. If one of the two is invalid, so is the result.
    #[must_use]
    pub fn merge(self, other: Self) -> Self {
        let content = self.content.and_then(|mut fields| {
            fields.merge(other.content?);
            Ok(fields)
        });
        Self { content, of: PhantomData }
    }
}

impl Fields {
    /// Adds a field, or replaces it.
    pub fn insert(&mut self, name: impl Into<String>, field: Field) {
        self.0.insert(name.into(), field);
    }

    fn merge(&mut self, other: Self) {
        for (name, field) in other.0 {
            match (self.0.get_mut(&name), field) {
                (Some(Field::Struct(mine)), Field::Struct(theirs)) => mine.merge(theirs),
                (_, field) => self.insert(name, field),
            }
        }
    }

    fn json(&self) -> Value {
        let json = |field: &Field| match field {
            Field::Struct(fields) => fields.json(),
            Field::Value(value) => value.clone(),
        };
        Value::Object(self.0.iter().map(|(name, field)| (name.clone(), json(field))).collect())
    }
}

impl FromIterator<(String, Field)> for Fields {
    fn from_iter<I: IntoIterator<Item = (String, Field)>>(fields: I) -> Self {
        Self(fields.into_iter().collect())
    }
}

impl IntoIterator for Fields {
    type Item = (String, Field);
    type IntoIter = std::collections::btree_map::IntoIter<String, Field>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl Field {
    /// The value as JSON, without copies.
    pub fn into_json(self) -> Value {
        match self {
            Self::Struct(fields) => {
                Value::Object(fields.into_iter().map(|(name, field)| (name, field.into_json())).collect())
            }
            Self::Value(value) => value,
        }
    }
}

/// Each object in it becomes a struct.
impl From<Map<String, Value>> for Fields {
    fn from(object: Map<String, Value>) -> Self {
        let field = |value| match value {
            Value::Object(object) => Field::Struct(object.into()),
            value => Field::Value(value),
        };
        object.into_iter().map(|(name, value)| (name, field(value))).collect()
    }
}

impl Serialize for Fields {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl Serialize for Field {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Struct(fields) => fields.serialize(serializer),
            Self::Value(value) => value.serialize(serializer),
        }
    }
}

impl<T> Serialize for Sparse<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.content {
            Ok(fields) => fields.serialize(serializer),
            Err(error) => Err(serde::ser::Error::custom(error)),
        }
    }
}

// By hand: a derive would ask the same of `T`.
impl<T> Clone for Sparse<T> {
    fn clone(&self) -> Self {
        Self { content: self.content.clone(), of: PhantomData }
    }
}

impl<T> PartialEq for Sparse<T> {
    fn eq(&self, other: &Self) -> bool {
        self.content == other.content
    }
}

/// As JSON, or the error.
impl<T> fmt::Debug for Sparse<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.json() {
            Ok(json) => write!(f, "Sparse({json})"),
            Err(error) => f.debug_tuple("Sparse").field(&Err::<(), _>(error)).finish(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Without `Clone` or `Debug`, which `Sparse` must not ask for.
    struct Kind;

    fn sparse(fields: impl IntoIterator<Item = (&'static str, Field)>) -> Sparse<Kind> {
        Sparse::from_fields(
            fields.into_iter().map(|(name, field)| (name.to_owned(), field)).collect::<Fields>(),
        )
    }

    fn part(fields: impl IntoIterator<Item = (&'static str, Field)>) -> Field {
        Field::Struct(fields.into_iter().map(|(name, field)| (name.to_owned(), field)).collect())
    }

    #[test]
    fn a_merge_goes_into_structs_and_replaces_lists_and_maps() {
        let base = sparse([
            ("spec", part([("a", Field::Value(json!(1))), ("list", Field::Value(json!([1, 2])))])),
            ("labels", Field::Value(json!({ "x": "1" }))),
        ]);
        let over = sparse([
            ("spec", part([("b", Field::Value(json!(2))), ("list", Field::Value(json!([])))])),
            ("labels", Field::Value(json!({ "y": "2" }))),
        ]);
        let merged = base.clone().merge(over.clone());
        assert_eq!(
            merged.json().unwrap(),
            json!({ "spec": { "a": 1, "b": 2, "list": [] }, "labels": { "y": "2" } })
        );
        assert_eq!(over.merge(base).json().unwrap()["spec"]["list"], json!([1, 2]), "the later one wins");
    }

    #[test]
    fn a_whole_value_replaces_a_struct_and_is_replaced_by_one() {
        let whole = || sparse([("spec", Field::Value(json!({ "whole": true })))]);
        let some = || sparse([("spec", part([("a", Field::Value(json!(1)))]))]);
        assert_eq!(some().merge(whole()).json().unwrap(), json!({ "spec": { "whole": true } }));
        assert_eq!(whole().merge(some()).json().unwrap(), json!({ "spec": { "a": 1 } }));
    }

    #[test]
    fn an_error_is_carried_to_every_use() {
        let invalid = || Sparse::<Kind>::invalid(SparseError::new("the field podIP has no name"));
        let valid = || sparse([("a", Field::Value(json!(1)))]);
        for value in [invalid(), valid().merge(invalid()), invalid().merge(valid())] {
            assert_eq!(value.json().unwrap_err().to_string(), "the field podIP has no name");
            let serialized = serde_json::to_string(&value).unwrap_err();
            assert_eq!(serialized.to_string(), "the field podIP has no name");
            assert!(format!("{value:?}").contains("podIP"));
        }
    }

    #[test]
    fn it_serializes_and_prints_what_was_written() {
        let value = sparse([("b", part([])), ("a", Field::Value(json!([{ "x": 1 }])))]);
        assert_eq!(serde_json::to_string(&value).unwrap(), r#"{"a":[{"x":1}],"b":{}}"#);
        assert_eq!(serde_json::to_value(&value).unwrap(), value.json().unwrap());
        assert_eq!(format!("{value:?}"), r#"Sparse({"a":[{"x":1}],"b":{}})"#);
        assert_ne!(value, sparse([]));
    }
}
