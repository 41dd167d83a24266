//! What differs between the objects of built-in kinds and of custom resources in a write.

use serde_json::Value;

use crate::{
    gotypes, object::meta, schema::golang, scheme::Endpoint, status_error::StatusError, storage::Stored,
};

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

/// The version of an object that is sent to an endpoint or a subresource of it.
pub(super) fn version_of(endpoint: &Endpoint, kind: &str) -> String {
    match kind {
        "Eviction" => "policy/v1".into(),
        "Scale" => "autoscaling/v1".into(),
        "TokenRequest" => "authentication.k8s.io/v1".into(),
        _ => endpoint.api_version(),
    }
}

/// The refusal of an object that says that it is something else than a kind.
pub(super) fn wrong_type(endpoint: &Endpoint, kind: &str, object: &Value) -> StatusError {
    let text = |field: &str| object[field].as_str().filter(|text| !text.is_empty());
    let own_version = version_of(endpoint, kind);
    let (provided, version) = (text("kind").unwrap_or(kind), text("apiVersion").unwrap_or(&own_version));
    let why = unconvertible((version, provided), (&own_version, kind));
    let name = &endpoint.version().name;
    StatusError::bad_request(format!("{provided} in version {name:?} cannot be handled as a {kind}: {why}"))
}

/// Why an object of a version and kind is not one of another.
pub(crate) fn unconvertible((version, provided): (&str, &str), (own_version, kind): (&str, &str)) -> String {
    if gotypes::of_kind(version, provided).is_none() {
        return unregistered(provided, version);
    }
    let package = golang::package(meta::split_api_version(own_version).0);
    let last = version.rsplit('/').next().unwrap_or_default();
    format!("converting ({last}.{provided}) to ({package}.{kind}): unknown conversion")
}

pub(super) fn unregistered(kind: &str, version: &str) -> String {
    // The place is that of 1.37.
    format!("no kind {kind:?} is registered for version {version:?} in scheme \"pkg/runtime/scheme.go:111\"")
}
