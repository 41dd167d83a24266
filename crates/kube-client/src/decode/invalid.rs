//! The metadata of an object that does not decode, and the field that is invalid.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube_core::error_boundary::InvalidObject;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::field_path::field_path;

/// Reads as much of the metadata as is valid, and finds the invalid field, in several passes: this is rare. `error` is that of decoding `json`,
/// `kind` the kind of objects without their own.
pub(super) fn invalid_object(json: &[u8], error: &serde_json::Error, kind: Option<&str>) -> InvalidObject {
    invalid_object_at(field_path(json, error), json, error, kind)
}

/// The same where the path of the invalid field is known, because `error` is that of decoding a larger value.
pub(super) fn invalid_object_at(
    field: Option<String>,
    json: &[u8],
    error: &serde_json::Error,
    kind: Option<&str>,
) -> InvalidObject {
    let metadata = WithMetadata::<ObjectMeta>::read(json)
        .or_else(|| WithMetadata::<LenientMeta>::read(json).map(LenientMeta::into_meta));
    let own_kind = serde_json::from_slice::<Kind>(json).ok().and_then(|object| object.kind);
    let context = match (own_kind.as_deref().or(kind), field) {
        (Some(kind), Some(path)) => format!("{kind}.{path}: "),
        (Some(kind), None) => format!("{kind}: "),
        (None, Some(path)) => format!("{path}: "),
        (None, None) => String::new(),
    };
    let metadata = without_managed_fields(metadata.unwrap_or_default());
    InvalidObject { error: format!("{context}{error}"), metadata }
}

#[derive(Deserialize)]
struct Kind {
    kind: Option<String>,
}

/// An object of which only the metadata is read.
#[derive(Deserialize)]
struct WithMetadata<M> {
    metadata: M,
}

impl<M: DeserializeOwned> WithMetadata<M> {
    fn read(json: &[u8]) -> Option<M> {
        serde_json::from_slice::<Self>(json).ok().map(|object| object.metadata)
    }
}

/// Metadata with other, invalid fields.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct LenientMeta {
    name: Value,
    namespace: Value,
    resource_version: Value,
    uid: Value,
}

impl LenientMeta {
    fn into_meta(self) -> ObjectMeta {
        let text = |value: Value| value.as_str().map(str::to_owned);
        ObjectMeta {
            name: text(self.name),
            namespace: text(self.namespace),
            resource_version: text(self.resource_version),
            uid: text(self.uid),
            ..ObjectMeta::default()
        }
    }
}

/// They are the largest part and irrelevant for the error.
fn without_managed_fields(metadata: ObjectMeta) -> ObjectMeta {
    ObjectMeta { managed_fields: None, ..metadata }
}

#[cfg(test)]
mod tests {
    use serde::de::Error;

    use super::*;

    fn read(json: &str) -> InvalidObject {
        invalid_object(json.as_bytes(), &serde_json::Error::custom("odd"), None)
    }

    #[test]
    fn all_valid_metadata_is_kept() {
        let whole = read(
            r#"{"metadata":{"name":"a","labels":{"x":"y"},"managedFields":[{"manager":"m"}]},"data":5}"#,
        );
        assert_eq!((whole.error.as_str(), whole.metadata.name.as_deref()), ("odd", Some("a")));
        assert!(whole.metadata.labels.is_some() && whole.metadata.managed_fields.is_none());
        let names =
            read(r#"{"metadata":{"name":"a","namespace":7,"resourceVersion":"3","labels":5}}"#).metadata;
        assert_eq!((names.name.as_deref(), names.resource_version.as_deref()), (Some("a"), Some("3")));
        assert!(names.namespace.is_none());
        for nothing in ["{}", r#"{"metadata":5}"#, "[1]", "{", ""] {
            assert_eq!(read(nothing).metadata, ObjectMeta::default());
        }
    }
}
