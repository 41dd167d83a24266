//! Decodes the body of a request: JSON, YAML or protobuf, and options.

use bytes::Bytes;
use http::Method;
use serde_json::Value;

use crate::{
    call::Call,
    patch,
    protobuf::{self, Undecoded},
    response::OFFERED,
    route::{FieldValidation, WriteOptions},
    schema::{self, FieldError, yaml_duplicates},
    scheme::Endpoint,
    status_error::StatusError,
};

pub(super) const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
/// The media types of custom resources.
const TEXTS: &str = "application/json, application/yaml";

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
        PROTOBUF if call.endpoint.resource.custom && kind == call.endpoint.kind() => {
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

/// Decodes an object in protobuf.
pub(super) fn in_protobuf(call: &Call, kind: &str) -> Result<Value, StatusError> {
    let api_version = match kind {
        "Eviction" => "policy/v1",
        "Scale" => "autoscaling/v1",
        "TokenRequest" => "authentication.k8s.io/v1",
        _ => &call.endpoint.api_version(),
    };
    protobuf::decode(&call.body, (api_version, kind)).map_err(|undecoded| match undecoded {
        Undecoded::Body(why) => unrecognized(kind, &why, &shown(&call.body)),
        Undecoded::Object { api_version, kind: found, why } => {
            let version = api_version.rsplit('/').next().unwrap_or_default();
            StatusError::bad_request(format!(
                "{found} in version {version:?} cannot be handled as a {kind}: {why}"
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

/// How strictly the fields of a body are checked: a body in protobuf has no duplicates, and its unknown fields are skipped.
pub(super) fn strictness(call: &Call, options: &mut WriteOptions) {
    options.duplicates = duplicates(call, options.validation);
    let json = matches!(media_type(&call.content_type), "" | "application/json");
    let decoded_into_type = !call.endpoint.resource.custom && call.method != Method::PATCH;
    options.text = (json && decoded_into_type).then(|| call.body.clone());
    if media_type(&call.content_type) == PROTOBUF {
        options.validation = FieldValidation::Ignore;
    }
}

/// Reports of duplicate fields of a body, of which the last one is used.
pub(super) fn duplicates(call: &Call, validation: FieldValidation) -> Vec<String> {
    match media_type(&call.content_type) {
        "application/yaml" | "application/apply-patch+yaml" => {
            let found =
                std::str::from_utf8(&call.body).map(yaml_duplicates::repeated_keys).unwrap_or_default();
            // The error of go-yaml is one of the reports.
            let strict = validation == FieldValidation::Strict && !found.is_empty();
            if strict { vec![format!("yaml: unmarshal errors:\n  {}", found.join("\n  "))] } else { found }
        }
        ""
        | "application/json"
        | "application/merge-patch+json"
        | "application/strategic-merge-patch+json" => schema::problems_in_order(&call.body, &[]),
        "application/json-patch+json" => {
            let unknown = json(&call.body).map(|patch| patch::json::unknown_fields(&patch));
            let problems = schema::problems_in_order(&call.body, &unknown.unwrap_or_default());
            problems.into_iter().map(|problem| format!("json patch {problem}")).collect()
        }
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
    serde_saphyr::from_str_with_options(text, yaml_duplicates::options()).map_err(|error| error.to_string())
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

/// A body in protobuf, for error messages: as a text if it is one.
fn shown(body: &Bytes) -> String {
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
