//! What differs between the objects of built-in kinds and of custom resources in a write.

use serde_json::Value;

use crate::{gotypes, schema::golang, scheme::Endpoint, status_error::StatusError, storage::Stored};

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

    /// The refusal of an object that says that it is of another kind or version.
    fn wrong_type(&self, endpoint: &Endpoint, object: &Value) -> StatusError;

    /// Whether a write without changes would store what is stored already.
    fn is_stored_as_read(&self, endpoint: &Endpoint, stored: &Stored) -> bool;
}

/// The refusal of an object that cannot be read.
pub(super) fn undecodable(endpoint: &Endpoint, why: &str) -> StatusError {
    let (kind, version) = (endpoint.kind(), &endpoint.version().name);
    StatusError::bad_request(format!("{kind} in version {version:?} cannot be handled as a {kind}: {why}"))
}

/// The refusal of an object that says that it is something else than a kind.
pub(super) fn wrong_type(endpoint: &Endpoint, kind: &str, object: &Value) -> StatusError {
    let text = |field: &str| object[field].as_str().filter(|text| !text.is_empty());
    let own_version = endpoint.api_version();
    let (provided, version) = (text("kind").unwrap_or(kind), text("apiVersion").unwrap_or(&own_version));
    let why = match gotypes::of_kind(version, provided) {
        Some(_) => {
            let package = golang::package(endpoint.group());
            let last = version.rsplit('/').next().unwrap_or_default();
            format!("converting ({last}.{provided}) to ({package}.{kind}): unknown conversion")
        }
        None => unregistered(provided, version),
    };
    let name = &endpoint.version().name;
    StatusError::bad_request(format!("{provided} in version {name:?} cannot be handled as a {kind}: {why}"))
}

pub(super) fn unregistered(kind: &str, version: &str) -> String {
    format!("no kind {kind:?} is registered for version {version:?} in scheme \"pkg/runtime/scheme.go:111\"")
}
