//! Undecodable objects: their metadata, and which field is invalid.

use std::marker::PhantomData;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube_core::error_boundary::InvalidObject;

use super::field::{field, text_field};
use super::path::field_path;
use crate::decode::read::{Prune, read, utf8};

/// The undecodable object in `json`. `error` is the error of decoding it; `kind` is used for objects that do not contain their own kind.
pub(in crate::decode) fn invalid_object(
    json: &[u8],
    error: &serde_json::Error,
    kind: Option<&str>,
) -> InvalidObject {
    invalid_object_at(field_path(json, error), json, error, kind)
}

/// The same with the path of the invalid field, for an `error` of decoding a larger value that contains the object.
pub(super) fn invalid_object_at(
    field_path: Option<String>,
    json: &[u8],
    error: &serde_json::Error,
    kind: Option<&str>,
) -> InvalidObject {
    let json = utf8(json).unwrap_or_default();
    let metadata = field(json, "metadata").unwrap_or_default();
    let metadata = read_metadata(metadata).unwrap_or_else(|| read_identity(metadata));
    let own_kind = text_field(json, "kind");
    let context = match (own_kind.as_deref().or(kind), field_path) {
        (Some(kind), Some(path)) => format!("{kind}.{path}: "),
        (Some(kind), None) => format!("{kind}: "),
        (None, Some(path)) => format!("{path}: "),
        (None, None) => String::new(),
    };
    // The managed fields are the largest part of the metadata, and do not help to find the object.
    let metadata = ObjectMeta { managed_fields: None, ..metadata };
    InvalidObject { error: format!("{context}{error}"), metadata }
}

/// The metadata, if all of their fields are valid.
fn read_metadata(json: &str) -> Option<ObjectMeta> {
    read(json.as_bytes(), &[], &Prune::default(), PhantomData).ok()
}

/// The fields that identify the object. Each is read on its own, because another field of the metadata is invalid.
fn read_identity(metadata: &str) -> ObjectMeta {
    ObjectMeta {
        name: text_field(metadata, "name"),
        namespace: text_field(metadata, "namespace"),
        resource_version: text_field(metadata, "resourceVersion"),
        uid: text_field(metadata, "uid"),
        ..ObjectMeta::default()
    }
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
