//! The metadata of an object that does not decode, and the field that is invalid.

use std::marker::PhantomData;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube_core::error_boundary::InvalidObject;

use super::field::{field, text_field};
use super::field_path::field_path;
use super::prune::Prune;
use super::reader::{read, utf8};

/// [`read_metadata`]. The generic callers pass it, so that it is compiled where they are: the decoder of their objects contains its code.
pub(super) type ReadMetadata = fn(&str) -> Option<ObjectMeta>;

/// Metadata that are valid as a whole.
pub(super) fn read_metadata(json: &str) -> Option<ObjectMeta> {
    read(json.as_bytes(), &[], &Prune::default(), PhantomData).ok()
}

/// Reads as much of the metadata as is valid, and finds the invalid field, in several passes: this is rare. `error` is that of decoding `json`,
/// `kind` the kind of objects without their own.
pub(super) fn invalid_object(
    json: &[u8],
    error: &serde_json::Error,
    kind: Option<&str>,
    read_metadata: ReadMetadata,
) -> InvalidObject {
    invalid_object_at(field_path(json, error), json, error, kind, read_metadata)
}

/// The same where the path of the invalid field is known, because `error` is that of decoding a larger value.
pub(super) fn invalid_object_at(
    field_path: Option<String>,
    json: &[u8],
    error: &serde_json::Error,
    kind: Option<&str>,
    read_metadata: ReadMetadata,
) -> InvalidObject {
    let json = utf8(json).unwrap_or_default();
    let metadata = field(json, "metadata").unwrap_or_default();
    let metadata = read_metadata(metadata).unwrap_or_else(|| valid_part(metadata));
    let own_kind = text_field(json, "kind");
    let context = match (own_kind.as_deref().or(kind), field_path) {
        (Some(kind), Some(path)) => format!("{kind}.{path}: "),
        (Some(kind), None) => format!("{kind}: "),
        (None, Some(path)) => format!("{path}: "),
        (None, None) => String::new(),
    };
    InvalidObject { error: format!("{context}{error}"), metadata: without_managed_fields(metadata) }
}

/// What identifies an object, of metadata with other, invalid fields.
fn valid_part(metadata: &str) -> ObjectMeta {
    ObjectMeta {
        name: text_field(metadata, "name"),
        namespace: text_field(metadata, "namespace"),
        resource_version: text_field(metadata, "resourceVersion"),
        uid: text_field(metadata, "uid"),
        ..ObjectMeta::default()
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
        invalid_object(json.as_bytes(), &serde_json::Error::custom("odd"), None, read_metadata)
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
        for (json, name, uid) in [
            (r#"{"metadata":{"name":null,"uid":"u"}}"#, None, Some("u")),
            (r#"{"metadata":{"name":"a","uid":"u","creationTimestamp":"yesterday"}}"#, Some("a"), Some("u")),
            (r#"{"metadata":{"name":"a","uid":{},"finalizers":5}}"#, Some("a"), None),
            (r#"{"kind":5,"metadata":{"name":"a","labels":null}}"#, Some("a"), None),
            (r#"{"metadata":{"name":"a\u0062"}}"#, Some("ab"), None),
        ] {
            let metadata = read(json).metadata;
            assert_eq!((metadata.name.as_deref(), metadata.uid.as_deref()), (name, uid), "{json}");
        }
        assert_eq!(read(r#"{"kind":"K","metadata":5}"#).error, "K: odd");
        assert_eq!(read(r#"{"kind":null}"#).error, "odd");
        let deep = format!(r#"{{"spec":{}{},"metadata":{{"name":"a"}}}}"#, "[".repeat(200), "]".repeat(200));
        assert_eq!(read(&deep).metadata.name.as_deref(), Some("a"), "nested too deep to be decoded");
        for nothing in ["{}", r#"{"metadata":5}"#, "[1]", "{", ""] {
            assert_eq!(read(nothing).metadata, ObjectMeta::default());
        }
    }
}
