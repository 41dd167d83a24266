//! Custom resources: their objects are read by the schema of their definition.

use std::sync::LazyLock;

use serde_json::Value;

use super::kind::{Kind, undecodable};
use crate::{
    gotypes::undecodable_metadata,
    object::meta,
    schema::{
        FieldError, Schema,
        types::{self, OBJECT_META},
    },
    scheme::Endpoint,
    status_error::StatusError,
    storage::Stored,
};

pub(super) struct Custom;

impl Kind for Custom {
    fn has_go_type(&self) -> bool {
        false
    }

    /// Null is no metadata, and a null in a map of texts is an empty text.
    fn decode_metadata(&self, endpoint: &Endpoint, object: &mut Value) -> Result<(), StatusError> {
        if let Some(why) = undecodable_metadata(&object["metadata"]) {
            return Err(undecodable(endpoint, &why));
        }
        if object["metadata"].is_null()
            && let Value::Object(members) = object
        {
            members.remove("metadata");
        }
        for map in ["/metadata/labels", "/metadata/annotations"] {
            let members = object.pointer_mut(map).and_then(Value::as_object_mut);
            let texts = members.into_iter().flat_map(|map| map.values_mut());
            texts.filter(|text| text.is_null()).for_each(|text| *text = "".into());
        }
        Ok(())
    }

    fn decode(
        &self,
        endpoint: &Endpoint,
        object: &mut Value,
        unknown: &mut Vec<String>,
    ) -> Result<(), String> {
        *unknown = endpoint.schema().prune(object);
        // Metadata is decoded before the rest.
        unknown.sort_by(|one, other| {
            let in_metadata = |path: &str| path.starts_with("metadata.");
            (!in_metadata(one), one).cmp(&(!in_metadata(other), other))
        });
        let wrong = undecodable_metadata(&object["metadata"]).or_else(|| wrong_embedded(endpoint, object));
        wrong.map_or(Ok(()), Err)
    }

    fn default(&self, endpoint: &Endpoint, object: &mut Value, applied: bool) {
        endpoint.schema().default(object);
        if !applied {
            endpoint.schema().drop_nulls(object);
        }
        meta::drop_empty(object);
    }

    /// Their JSON is printed as it is.
    fn encode(&self, _: &Endpoint, _: &mut Value) {}

    fn wrong_kind(&self, endpoint: &Endpoint, object: &Value) -> StatusError {
        let provided = object["kind"].as_str().unwrap_or_default();
        let why = format!("must be {}", endpoint.kind());
        let error = FieldError::invalid("kind", format!("{provided:?}"), &why);
        StatusError::invalid(endpoint.group(), provided, meta::name(object), &[error])
    }

    /// Genuine servers compare the bytes in etcd: an object in a version that is no longer the storage version, or whose schema has dropped
    /// fields or added defaults since, is written.
    fn is_stored_as_read(&self, endpoint: &Endpoint, stored: &Stored) -> bool {
        stored.is_version(&endpoint.resource.storage().api_version()) && !stored.has_view()
    }
}

/// The first embedded object whose identity has a wrong type.
fn wrong_embedded(endpoint: &Endpoint, object: &Value) -> Option<String> {
    endpoint.schema().embedded(object).into_iter().find_map(|(path, embedded)| {
        for name in ["apiVersion", "kind"] {
            let value = &embedded[name];
            if !value.is_null() && !value.is_string() {
                return Some(format!("{path}.{name}: Invalid value: {value}: must be a string"));
            }
        }
        let metadata = embedded.get("metadata")?;
        let errors = metadata_schema().validate(metadata);
        let error = errors.iter().find(|error| error.reason == "FieldValueTypeInvalid")?;
        let inner = format!("json: cannot unmarshal field {}: {}", error.field, error.message);
        Some(format!("{path}.metadata: Invalid value: {metadata}: {inner}"))
    })
}

fn metadata_schema() -> &'static Schema {
    static SCHEMA: LazyLock<Schema> = LazyLock::new(|| {
        types::by_name(OBJECT_META).expect("invariant: metadata is in the table of built-in types")
    });
    &SCHEMA
}
