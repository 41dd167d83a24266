//! What can still be known of an object that does not decode.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube_core::error_boundary::InvalidObject;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Reads the metadata of an object, given as JSON, as far as that can be read. Rare, so it may cost another pass.
pub(super) fn invalid_object(json: &[u8], error: &serde_json::Error) -> InvalidObject {
    let metadata =
        Object::<ObjectMeta>::read(json).or_else(|| Object::<Names>::read(json).map(Names::into_meta));
    InvalidObject { error: error.to_string(), metadata: without_managed_fields(metadata.unwrap_or_default()) }
}

/// An object of which only the metadata counts.
#[derive(Deserialize)]
struct Object<M> {
    metadata: M,
}

impl<M: DeserializeOwned> Object<M> {
    fn read(json: &[u8]) -> Option<M> {
        serde_json::from_slice::<Self>(json).ok().map(|object| object.metadata)
    }
}

/// Metadata of which other fields are broken.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Names {
    name: Value,
    namespace: Value,
    resource_version: Value,
    uid: Value,
}

impl Names {
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

/// They are by far the largest part and say nothing of the object.
fn without_managed_fields(metadata: ObjectMeta) -> ObjectMeta {
    ObjectMeta { managed_fields: None, ..metadata }
}

#[cfg(test)]
mod tests {
    use serde::de::Error;

    use super::*;

    fn read(json: &str) -> InvalidObject {
        invalid_object(json.as_bytes(), &serde_json::Error::custom("odd"))
    }

    #[test]
    fn as_much_is_kept_as_can_be_read() {
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
