//! Decodes the body of a request: JSON, YAML or protobuf, and options.

use bytes::Bytes;
use serde_json::Value;

use super::kinds::kind_of;
use crate::{
    call::Call,
    protobuf::{self, Undecoded},
    response::OFFERED,
    schema::yaml_duplicates,
    status_error::StatusError,
};

pub(crate) const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
/// The media types of custom resources.
const TEXTS: &str = "application/json, application/yaml";

/// Decodes an object without checking its type.
pub(crate) fn typed(call: &Call, kind: &str) -> Result<Value, StatusError> {
    let has_go_type = kind_of(&call.endpoint).has_go_type();
    let parsed = match media_type(&call.content_type) {
        "" | "application/json" => json(&call.body),
        "application/yaml" => yaml(&call.body),
        PROTOBUF if !has_go_type && kind == call.endpoint.kind() => {
            return Err(StatusError::unsupported_media_type(TEXTS));
        }
        PROTOBUF => return in_protobuf(call, kind),
        _ => return Err(StatusError::unsupported_media_type(OFFERED)),
    };
    let unrecognized = |why: String| unrecognized(kind, &why, &start(&call.body));
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
    for (field, title) in [("kind", "Kind"), ("apiVersion", "apiVersion")] {
        if !object[field].is_null() && !object[field].is_string() {
            return Err(unrecognized(format!(
                "couldn't get version/kind; json parse error: {field} must be a string"
            )));
        }
        if !has_go_type && object[field].as_str().unwrap_or_default().is_empty() {
            return Err(unrecognized(format!(
                "Object '{title}' is missing in '{}'",
                String::from_utf8_lossy(&call.body)
            )));
        }
    }
    Ok(object)
}

/// Decodes an object in protobuf.
pub(crate) fn in_protobuf(call: &Call, kind: &str) -> Result<Value, StatusError> {
    let api_version = match kind {
        "Eviction" => "policy/v1",
        "Scale" => "autoscaling/v1",
        "TokenRequest" => "authentication.k8s.io/v1",
        _ => &call.endpoint.api_version(),
    };
    protobuf::decode(&call.body, (api_version, kind)).map_err(|undecoded| match undecoded {
        Undecoded::Body(why) => unrecognized(kind, &why, &printed(&call.body)),
        Undecoded::Object { api_version, kind: provided, why } => {
            let version = api_version.rsplit('/').next().unwrap_or_default();
            StatusError::bad_request(format!(
                "{provided} in version {version:?} cannot be handled as a {kind}: {why}"
            ))
        }
    })
}

fn unrecognized(kind: &str, why: &str, start: &str) -> StatusError {
    StatusError::bad_request(format!(
        "the object provided is unrecognized (must be of type {kind}): {why} ({start})"
    ))
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
pub(crate) fn posted(call: &Call, kind: &str) -> Result<Value, StatusError> {
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
pub(crate) fn check_posted_name(call: &Call, object: &Value, kind: &str) -> Result<(), StatusError> {
    if object["metadata"]["name"].as_str().unwrap_or_default() == call.object_name() {
        return Ok(());
    }
    Err(StatusError::bad_request(format!("name in URL does not match name in {kind} object")))
}

/// The body of a delete: `DeleteOptions`, or empty.
pub(crate) fn options(call: &Call) -> Result<Value, StatusError> {
    if call.body.is_empty() {
        return Ok(Value::Null);
    }
    let parsed = match media_type(&call.content_type) {
        "" | "application/json" => json(&call.body),
        "application/yaml" => yaml(&call.body),
        PROTOBUF => options_in_protobuf(call),
        _ => return Err(StatusError::unsupported_media_type(OFFERED)),
    };
    parsed.map_err(|why| StatusError::bad_request(format!("cannot decode the DeleteOptions: {why}")))
}

fn options_in_protobuf(call: &Call) -> Result<Value, String> {
    match protobuf::decode(&call.body, ("v1", "DeleteOptions")) {
        Ok(options) if options["kind"] == "DeleteOptions" => Ok(options),
        Ok(other) => {
            Err(format!("no kind {} is registered for version {}", other["kind"], other["apiVersion"]))
        }
        Err(Undecoded::Body(why) | Undecoded::Object { why, .. }) => Err(why),
    }
}

pub(crate) fn media_type(content_type: &str) -> &str {
    content_type.split(';').next().unwrap_or_default().trim()
}

pub(crate) fn json(body: &Bytes) -> Result<Value, String> {
    serde_json::from_slice(body).map_err(|error| error.to_string())
}

pub(crate) fn yaml(body: &Bytes) -> Result<Value, String> {
    let text = std::str::from_utf8(body).map_err(|error| error.to_string())?;
    serde_saphyr::from_str_with_options(text, yaml_duplicates::options()).map_err(|error| error.to_string())
}

/// A body in protobuf, for error messages: as a text if it is one.
fn printed(body: &Bytes) -> String {
    match std::str::from_utf8(body) {
        Ok("") => "<empty>".into(),
        Ok(text) if !text.contains(char::is_control) => start(body),
        _ => body.iter().take(1024).map(|byte| format!("{byte:02x}")).collect(),
    }
}

/// The start of a body, for error messages.
fn start(body: &Bytes) -> String {
    let text = String::from_utf8_lossy(body);
    match text.char_indices().nth(30) {
        Some((at, _)) => format!("{} ...", &text[..at]),
        None => text.into(),
    }
}
