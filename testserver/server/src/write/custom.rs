//! Custom resources: their objects are read by the schema of their definition.

use serde_json::Value;

use super::kind::{Kind, undecodable};
use crate::{
    gotypes::undecodable_metadata,
    object::meta,
    schema::{FieldError, Schema},
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
        let wrong = undecodable_metadata(&object["metadata"])
            .or_else(|| Some(wrong_embedded(endpoint.schema(), object)?.to_string()));
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

    fn wrong_type(&self, endpoint: &Endpoint, object: &Value) -> StatusError {
        let (expected, version) = (endpoint.api_version(), object["apiVersion"].as_str().unwrap_or_default());
        if version != expected {
            return StatusError::bad_request(format!(
                "the API version in the data ({version}) does not match the expected API version ({expected})"
            ));
        }
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

/// The first embedded object whose identity or metadata has a wrong type.
pub(crate) fn wrong_embedded(schema: &Schema, object: &Value) -> Option<FieldError> {
    schema.embedded(object).into_iter().find_map(|(path, embedded)| {
        for name in ["apiVersion", "kind"] {
            let value = &embedded[name];
            if !value.is_null() && !value.is_string() {
                return Some(FieldError::invalid(format!("{path}.{name}"), value, "must be a string"));
            }
        }
        let metadata = embedded.get("metadata")?;
        let why = undecodable_metadata(metadata)?;
        Some(FieldError::invalid(format!("{path}.metadata"), metadata, &why))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Responses of a genuine server, which the tests of validation leave out.
    #[test]
    fn wrong_embedded_objects_are_refused_in_the_words_of_the_genuine_server() {
        let crd: Value = serde_saphyr::from_str(include_str!("../apply/recorded/things.crd.yaml")).unwrap();
        let given = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
        let schema = Schema::from_openapi("spec.validation", given).unwrap();
        let mut seen = 0;
        for line in include_str!("../schema/recorded/values.jsonl").lines() {
            let case: Value = serde_json::from_str(line).unwrap();
            let message = case["message"].as_str().unwrap_or_default();
            if let Some((_, why)) = message.split_once("cannot be handled as a Thing: spec.emb.") {
                let wrong = wrong_embedded(&schema, &case["object"]).unwrap();
                assert_eq!(wrong.to_string(), format!("spec.emb.{why}"));
                seen += 1;
            }
        }
        assert_eq!(seen, 3);
    }
}
