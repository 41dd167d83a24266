//! Built-in kinds: their objects are decoded into Go types.

use serde_json::Value;

use super::kind::{Kind, wrong_type};
use crate::{gotypes, object::meta, scheme::Endpoint, status_error::StatusError, storage::Stored, strategy};

pub(super) struct BuiltIn;

impl Kind for BuiltIn {
    fn has_go_type(&self) -> bool {
        true
    }

    /// Decoding the object refuses the metadata.
    fn decode_metadata(&self, _: &Endpoint, _: &mut Value) -> Result<(), StatusError> {
        Ok(())
    }

    fn decode(
        &self,
        endpoint: &Endpoint,
        object: &mut Value,
        unknown: &mut Vec<String>,
    ) -> Result<(), String> {
        *unknown = endpoint.schema().prune(object);
        unknown.sort();
        endpoint.go_type().map_or(Ok(()), |ty| gotypes::decode(ty, object))
    }

    fn default(&self, endpoint: &Endpoint, object: &mut Value, _: bool) {
        endpoint.schema().default(object);
        strategy::default(endpoint, object);
        meta::drop_empty(object);
    }

    fn encode(&self, endpoint: &Endpoint, object: &mut Value) {
        if let Some(ty) = endpoint.go_type() {
            gotypes::encode(ty, object);
        }
    }

    fn wrong_type(&self, endpoint: &Endpoint, object: &Value) -> StatusError {
        wrong_type(endpoint, endpoint.kind(), object)
    }

    /// Their stored bytes are what reads see.
    fn is_stored_as_read(&self, _: &Endpoint, _: &Stored) -> bool {
        true
    }
}
