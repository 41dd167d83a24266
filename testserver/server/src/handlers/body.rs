//! Decodes the body of a request: JSON, YAML or protobuf, and options.

use bytes::Bytes;
use serde_json::Value;

use super::protobuf;
use crate::{
    call::Call,
    schema::{self, FieldError},
    scheme::Endpoint,
    status_error::StatusError,
};

const ACCEPTED: &str = "application/json, application/yaml";

/// Decodes the object of a create or update and checks its type.
pub(super) fn object(call: &Call) -> Result<Value, StatusError> {
    let mut object = typed(call, call.endpoint.kind())?;
    check_type(&call.endpoint, &mut object)?;
    Ok(object)
}

/// Decodes an object without checking its type.
pub(super) fn typed(call: &Call, kind: &str) -> Result<Value, StatusError> {
    let media = media_type(&call.content_type);
    let parsed = match media {
        "" | "application/json" => json(&call.body),
        "application/yaml" => yaml(&call.body),
        "application/vnd.kubernetes.protobuf" => {
            Ok(protobuf::decode(&call.body).map_err(|why| unread(&call.body, why))?)
        }
        _ => return Err(StatusError::unsupported_media_type(ACCEPTED)),
    };
    let unrecognized = |why: String| {
        StatusError::bad_request(format!(
            "the object provided is unrecognized (must be of type {kind}): {why} ({})",
            start(&call.body)
        ))
    };
    if parsed.is_err()
        && let Some(number) = too_large(&call.body)
    {
        let version = &call.endpoint.version().name;
        return Err(StatusError::bad_request(format!(
            "{kind} in version {version:?} cannot be handled as a {kind}: json: cannot unmarshal number {number} into Go value of type float64"
        )));
    }
    let object =
        parsed.map_err(|why| unrecognized(format!("couldn't get version/kind; json parse error: {why}")))?;
    if !object.is_object() {
        return Err(unrecognized("couldn't get version/kind; json parse error: expected an object".into()));
    }
    for (field, shown) in [("kind", "Kind"), ("apiVersion", "apiVersion")] {
        if !object[field].is_null() && !object[field].is_string() {
            return Err(unrecognized(format!(
                "couldn't get version/kind; json parse error: {field} must be a string"
            )));
        }
        if call.endpoint.resource.custom && object[field].as_str().unwrap_or_default().is_empty() {
            return Err(unrecognized(format!(
                "Object '{shown}' is missing in '{}'",
                String::from_utf8_lossy(&call.body)
            )));
        }
    }
    Ok(object)
}

/// A number of a JSON body that no float can hold.
fn too_large(body: &Bytes) -> Option<&str> {
    let text = std::str::from_utf8(body).ok()?;
    let part = |c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.' | 'e' | 'E');
    let start = |number: &&str| number.starts_with(|c: char| c.is_ascii_digit() || c == '-');
    let mut numbers = text.split(|c| !part(c)).filter(start);
    numbers.find(|number| number.parse::<f64>().is_ok_and(f64::is_infinite))
}

/// Decodes an object posted to a subresource, of this kind or without a kind.
pub(super) fn posted(call: &Call, kind: &str) -> Result<Value, StatusError> {
    let object = typed(call, kind)?;
    match object["kind"].as_str() {
        Some(provided) if !provided.is_empty() && provided != kind => {
            let version = object["apiVersion"].as_str().unwrap_or_default();
            let version = version.rsplit('/').next().unwrap_or_default();
            Err(StatusError::bad_request(format!(
                "{provided} in version {version:?} cannot be handled as a {kind}"
            )))
        }
        _ => Ok(object),
    }
}

/// Checks that the body names the object of the path.
pub(super) fn check_posted_name(call: &Call, object: &Value, kind: &str) -> Result<(), StatusError> {
    if object["metadata"]["name"].as_str().unwrap_or_default() == call.object_name() {
        return Ok(());
    }
    Err(StatusError::bad_request(format!("name in URL does not match name in {kind} object")))
}

/// Sets a missing `apiVersion` and `kind`, and refuses any other than the endpoint's.
pub(super) fn check_type(endpoint: &Endpoint, object: &mut Value) -> Result<(), StatusError> {
    let api_version = endpoint.api_version();
    let provided = |field: &str| object[field].as_str().unwrap_or_default().to_string();
    let (given_version, given_kind) = (provided("apiVersion"), provided("kind"));
    if !given_kind.is_empty() && given_kind != endpoint.kind() {
        return Err(wrong_kind(endpoint, &given_kind, object));
    }
    if !given_version.is_empty() && given_version != api_version {
        return Err(StatusError::bad_request(format!(
            "the API version in the data ({given_version}) does not match the expected API version ({api_version})"
        )));
    }
    object["apiVersion"] = api_version.into();
    object["kind"] = endpoint.kind().into();
    Ok(())
}

/// An applied object must have `apiVersion` and `kind`.
pub(super) fn check_applied_type(endpoint: &Endpoint, object: &Value) -> Result<(), StatusError> {
    for field in ["apiVersion", "kind"] {
        if object[field].as_str().unwrap_or_default().is_empty() {
            let message =
                format!("error decoding YAML: {field} is missing, expected that of {}", endpoint.kind());
            return Err(StatusError::bad_request(message));
        }
    }
    Ok(())
}

/// The body of a delete: `DeleteOptions`, or empty.
pub(super) fn options(call: &Call) -> Result<Value, StatusError> {
    if call.body.is_empty() {
        return Ok(Value::Null);
    }
    let parsed = match media_type(&call.content_type) {
        "" | "application/json" => json(&call.body),
        "application/yaml" => yaml(&call.body),
        _ => return Err(StatusError::unsupported_media_type(ACCEPTED)),
    };
    parsed.map_err(|why| StatusError::bad_request(format!("cannot decode the DeleteOptions: {why}")))
}

/// Duplicate fields of a JSON body, of which the last one is used.
pub(super) fn duplicates(call: &Call) -> Vec<String> {
    match media_type(&call.content_type) {
        ""
        | "application/json"
        | "application/merge-patch+json"
        | "application/strategic-merge-patch+json" => schema::duplicate_fields(&call.body),
        _ => Vec::new(),
    }
}

pub(super) fn media_type(content_type: &str) -> &str {
    content_type.split(';').next().unwrap_or_default().trim()
}

pub(super) fn json(body: &Bytes) -> Result<Value, String> {
    serde_json::from_slice(body).map_err(|error| error.to_string())
}

pub(super) fn yaml(body: &Bytes) -> Result<Value, String> {
    let text = std::str::from_utf8(body).map_err(|error| error.to_string())?;
    serde_saphyr::from_str(text).map_err(|error| error.to_string())
}

fn wrong_kind(endpoint: &Endpoint, provided: &str, object: &Value) -> StatusError {
    let kind = endpoint.kind();
    if endpoint.resource.custom {
        let error = FieldError::invalid("kind", format!("{provided:?}"), &format!("must be {kind}"));
        return StatusError::invalid(endpoint.group(), provided, crate::object::meta::name(object), &[error]);
    }
    let version = &endpoint.version().name;
    StatusError::bad_request(format!("{provided} in version {version:?} cannot be handled as a {kind}"))
}

/// The error for a protobuf body that cannot be decoded; clients retry with JSON.
fn unread(body: &Bytes, why: String) -> StatusError {
    if !protobuf::is_marked(body) {
        let shown: String = body.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        return StatusError::bad_request(format!(
            "the object provided is unrecognized: provided data does not appear to be a protobuf message, \
             expected prefix [107 56 115 0] ({shown})"
        ));
    }
    StatusError::new(http::StatusCode::UNSUPPORTED_MEDIA_TYPE, "UnsupportedMediaType", why)
}

/// The start of a body, for error messages.
fn start(body: &Bytes) -> String {
    let text = String::from_utf8_lossy(body);
    match text.char_indices().nth(30) {
        Some((at, _)) => format!("{} ...", &text[..at]),
        None => text.into(),
    }
}
