//! [`Sparse`]: an apply configuration that has exactly the fields that were written.

use std::{collections::BTreeMap, fmt, marker::PhantomData, sync::Arc};

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

/// Some fields of a `T`: exactly those that were written. The others are absent, not empty or default.
///
/// It is what server-side apply needs: the server makes the field manager the owner of every field that it is sent, so a full `T`, with
/// its empty strings and lists, claims more than was meant. The macro `kube::apply!` writes one, [`extract`](crate::apply::extract()) reads
/// one from an object, `ApiExt::apply` (crate `kube-tools`) sends one.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube_core::apply::extract;
/// use serde_json::json;
///
/// let live: ConfigMap = serde_json::from_value(json!({
///     "metadata": {
///         "name": "settings",
///         "managedFields": [{
///             "manager": "painter", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1",
///             "fieldsV1": { "f:data": { "f:color": {} } },
///         }],
///     },
///     "data": { "color": "blue", "size": "5" },
/// }))?;
/// let applied = extract(&live, "painter", None)?;
/// let expected = json!({
///     "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "settings" }, "data": { "color": "blue" },
/// });
/// assert_eq!(serde_json::to_value(&applied)?, expected);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// A value that could not be made carries its error: [`json`](Self::json), serializing and sending it fail with that error, and never
/// with a wrong configuration.
#[must_use]
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
    /// If the name or the value of a field could not be determined when it was written.
    pub fn json(&self) -> Result<Value, SparseError> {
        self.content.as_ref().map(Fields::json).map_err(Clone::clone)
    }

    /// The fields of both. Where both have a field, that of `other` is used; of a struct, each may have some of the fields.
    ///
    /// Lists, maps with free keys such as labels, and structs that were written as one typed value are replaced as a whole. In a value
    /// from [`extract`](crate::apply::extract()) every map counts as a struct, because managed fields do not tell them apart: the keys of
    /// two extracted maps are united. If one of the two carries an error, so does the result. O(size).
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_core::{Sparse, apply::extract};
    /// use serde_json::json;
    ///
    /// let entry = |manager: &str, fields| {
    ///     json!({ "manager": manager, "operation": "Apply", "apiVersion": "v1", "fieldsV1": fields })
    /// };
    /// let live: ConfigMap = serde_json::from_value(json!({
    ///     "metadata": { "name": "a", "managedFields": [
    ///         entry("one", json!({ "f:data": { "f:x": {} } })), entry("two", json!({ "f:immutable": {} })),
    ///     ] },
    ///     "data": { "x": "1" }, "immutable": true,
    /// }))?;
    /// let both: Sparse<ConfigMap> = extract(&live, "one", None)?.merge(extract(&live, "two", None)?);
    /// assert_eq!(both.json()?["data"], json!({ "x": "1" }));
    /// assert_eq!(both.json()?["immutable"], true);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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

/// Equal JSON, or the same error.
impl<T> PartialEq for Sparse<T> {
    fn eq(&self, other: &Self) -> bool {
        self.json() == other.json()
    }
}

/// The fields as JSON, or the error.
impl<T> fmt::Debug for Sparse<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.json() {
            Ok(json) => write!(f, "Sparse({json})"),
            Err(error) => write!(f, "Sparse(error: {error})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Without `Clone`, `Debug` and `Send`, which `Sparse` must not ask for.
    struct Kind(#[expect(dead_code, reason = "it makes the type not `Send`")] *const ());

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
        assert_eq!(
            value.into_fields().unwrap().into_iter().map(|(_, field)| field.into_json()).collect::<Vec<_>>(),
            [json!([{ "x": 1 }]), json!({}),]
        );
        fn is_send<T: Send + Sync>(_: &T) {}
        is_send(&sparse([]));
    }
}
