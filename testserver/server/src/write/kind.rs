//! What differs between the objects of built-in kinds and of custom resources in a write.

use serde_json::Value;

use crate::{scheme::Endpoint, status_error::StatusError, storage::Stored};

/// How a server reads, completes and prints the objects of an endpoint.
pub(crate) trait Kind: Sync {
    /// Whether objects are decoded into a Go type, from protobuf too, and merged by it. Other objects have to say what they are.
    fn has_go_type(&self) -> bool;

    /// Refuses metadata that cannot be decoded, and reads its nulls. Patches are refused in their own way.
    fn decode_metadata(&self, endpoint: &Endpoint, object: &mut Value) -> Result<(), StatusError>;

    /// Reads an object: drops unknown fields and adds their paths to `unknown`, in the order in which they are reported.
    ///
    /// # Errors
    /// The first value of a wrong type.
    fn decode(
        &self,
        endpoint: &Endpoint,
        object: &mut Value,
        unknown: &mut Vec<String>,
    ) -> Result<(), String>;

    /// Sets what a decoded object leaves out. An applied one keeps its nulls, which validation reports.
    fn default(&self, endpoint: &Endpoint, object: &mut Value, applied: bool);

    /// Adds what is printed of fields that are not set.
    fn encode(&self, endpoint: &Endpoint, object: &mut Value);

    /// The refusal of an object that says that it is of another kind.
    fn wrong_kind(&self, endpoint: &Endpoint, object: &Value) -> StatusError;

    /// Whether a write without changes would store what is stored already.
    fn is_stored_as_read(&self, endpoint: &Endpoint, stored: &Stored) -> bool;
}

/// The refusal of an object that cannot be read.
pub(super) fn undecodable(endpoint: &Endpoint, why: &str) -> StatusError {
    let (kind, version) = (endpoint.kind(), &endpoint.version().name);
    StatusError::bad_request(format!("{kind} in version {version:?} cannot be handled as a {kind}: {why}"))
}
