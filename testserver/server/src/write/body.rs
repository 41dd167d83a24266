//! Decodes the body of a request: JSON, YAML or protobuf, and options.

use bytes::Bytes;
use serde_json::{Map, Value};

use super::{
    kind::{unregistered, version_of, wrong_type},
    kinds::kind_of,
};
use crate::{
    call::Call,
    gotypes,
    protobuf::{self, Undecoded},
    response::OFFERED,
    schema::{golang, yaml},
    status_error::StatusError,
};

pub(crate) const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
/// The media types of custom resources.
const TEXTS: &str = "application/json, application/yaml";
const UNREADABLE: &str = "couldn't get version/kind; json parse error: ";
/// What Go reads first of an object.
const TYPE_META: &str =
    r#"struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }"#;

/// Decodes an object without checking its type. A body that is null or empty YAML is an object without members.
pub(crate) fn typed(call: &Call, kind: &str) -> Result<Value, StatusError> {
    let has_go_type = kind_of(&call.endpoint).has_go_type() || kind != call.endpoint.kind();
    let parsed = match media_type(&call.content_type) {
        "" | "application/json" => json(&call.body).map_err(|why| format!("{UNREADABLE}{why}")),
        "application/yaml" => yaml(&call.body),
        PROTOBUF if !has_go_type => return Err(StatusError::unsupported_media_type(TEXTS)),
        PROTOBUF => return in_protobuf(call, kind),
        _ => return Err(StatusError::unsupported_media_type(OFFERED)),
    };
    let unrecognized = |why: &str| unrecognized(kind, why, &printed(&call.body));
    let undecodable = |why: String| {
        let version = &call.endpoint.version().name;
        StatusError::bad_request(format!(
            "{kind} in version {version:?} cannot be handled as a {kind}: {why}"
        ))
    };
    if parsed.is_err()
        && let Some(number) = too_large(&call.body)
    {
        let why = format!("json: cannot unmarshal number {number} into Go value of type float64");
        return Err(undecodable(why));
    }
    let object = parsed.and_then(with_type).map_err(|why| unrecognized(&why))?;
    if !has_go_type && object["kind"].as_str().unwrap_or_default().is_empty() {
        let body = String::from_utf8_lossy(&call.body);
        return Err(unrecognized(&format!("Object 'Kind' is missing in '{body}'")));
    }
    let metadata = &object["metadata"];
    if has_go_type && !metadata.is_null() && !metadata.is_object() {
        let json = golang::json_type(metadata);
        let field = format!("Go struct field {kind}.metadata of type v1.ObjectMeta");
        return Err(undecodable(format!("json: cannot unmarshal {json} into {field}")));
    }
    Ok(object)
}

/// What Go reads first of a body: an object, whose kind and version are texts.
fn with_type(body: Value) -> Result<Value, String> {
    if body.is_null() {
        return Ok(Value::Object(Map::new()));
    }
    match wrong_type_meta(&body) {
        Some(why) => Err(why),
        None => Ok(body),
    }
}

/// Why Go cannot read kind and version of a value.
pub(crate) fn wrong_type_meta(value: &Value) -> Option<String> {
    let json = golang::json_type(value);
    if !value.is_object() {
        return Some(format!("{UNREADABLE}json: cannot unmarshal {json} into Go value of type {TYPE_META}"));
    }
    let wrong = |field: &&str| !value[*field].is_null() && !value[*field].is_string();
    let field = ["kind", "apiVersion"].into_iter().find(wrong)?;
    let json = golang::json_type(&value[field]);
    Some(format!("{UNREADABLE}json: cannot unmarshal {json} into Go struct field .{field} of type string"))
}

/// Decodes an object in protobuf.
pub(crate) fn in_protobuf(call: &Call, kind: &str) -> Result<Value, StatusError> {
    let api_version = version_of(&call.endpoint, kind);
    protobuf::decode(&call.body, (&api_version, kind)).map_err(|undecoded| match undecoded {
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
    let text = |field: &str| object[field].as_str().unwrap_or_default();
    let (provided, version) = (text("kind"), text("apiVersion"));
    let fits = version.is_empty() || gotypes::of_kind(version, kind).is_some();
    if !["", kind].contains(&provided) || !fits {
        return Err(wrong_type(&call.endpoint, kind, &object));
    }
    Ok(object)
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
        "" | "application/json" => json(&call.body).map_err(|why| format!("{UNREADABLE}{why}")),
        "application/yaml" => yaml(&call.body),
        PROTOBUF => options_in_protobuf(call),
        _ => return Err(StatusError::unsupported_media_type(OFFERED)),
    };
    let options = parsed.and_then(with_type).map_err(StatusError::bad_request)?;
    let text = |field: &str| options[field].as_str().filter(|text| !text.is_empty());
    match text("kind") {
        Some("Status") if ["", "v1"].contains(&text("apiVersion").unwrap_or_default()) => {
            let why = "converting (v1.Status) to (v1.DeleteOptions): unknown conversion";
            Err(StatusError::bad_request(why))
        }
        Some(kind) if kind != "DeleteOptions" => {
            let version = text("apiVersion").unwrap_or("meta.k8s.io/v1");
            Err(StatusError::bad_request(unregistered(kind, version)))
        }
        _ => Ok(options),
    }
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
    golang::parse(body)
}

pub(crate) fn yaml(body: &Bytes) -> Result<Value, String> {
    let text = std::str::from_utf8(body).map_err(|error| error.to_string())?;
    yaml::parse(text)
}

/// The start of a body for error messages: as a text if it may be JSON.
fn printed(body: &Bytes) -> String {
    let more = if body.len() > 30 { " ..." } else { "" };
    let start = &body[..body.len().min(30)];
    match body.first() {
        None => "<empty>".into(),
        Some(b'{') => String::from_utf8_lossy(start).into_owned() + more,
        _ => start.iter().map(|byte| format!("{byte:02x}")).collect::<String>() + more,
    }
}
