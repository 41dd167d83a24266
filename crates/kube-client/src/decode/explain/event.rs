//! Lines of a watch that do not decode.

use kube_core::error_boundary::InvalidObject;
use kube_core::{Status, WatchEvent};
use serde::de::Error as _;

use super::field::{field, text_field};
use super::invalid::invalid_object_at;
use super::path::field_path;
use crate::decode::read::{read_plain, utf8};
use crate::error::{ErasedError, Error};

/// The event of an undecodable object. If something else is invalid, that is the error.
pub(in crate::decode) fn invalid_event(
    line: &[u8],
    err: &serde_json::Error,
) -> Result<WatchEvent<InvalidObject>, ErasedError> {
    let text = utf8(line).unwrap_or_default();
    let event = match text_field(text, "type").as_deref() {
        Some("ADDED") => WatchEvent::Added,
        Some("MODIFIED") => WatchEvent::Modified,
        Some("DELETED") => WatchEvent::Deleted,
        _ => return Err(explain_event(line, err)),
    };
    let object = field(text, "object").ok_or_else(|| explain_event(line, err))?;
    Ok(event(invalid_object_at(object_field(line, err), object.as_bytes(), err, None)))
}

/// Adds the object and the field to the error. A bare `Status` in place of an event is [`Error::Api`].
pub(in crate::decode) fn explain_event(line: &[u8], err: &serde_json::Error) -> ErasedError {
    let json = utf8(line).unwrap_or_default();
    let event = text_field(json, "type").unwrap_or_default();
    if event.is_empty()
        && text_field(json, "kind").as_deref() == Some("Status")
        && let Ok(status) = read_plain::<Status>(line)
    {
        return Error::Api(status.boxed()).into();
    }
    let object = field(json, "object").unwrap_or_default();
    let kind = text_field(object, "kind").unwrap_or_default();
    let metadata = field(object, "metadata").unwrap_or_default();
    let named = match (text_field(metadata, "namespace"), text_field(metadata, "name")) {
        (Some(namespace), Some(name)) => format!("{kind} {namespace}/{name}"),
        (None, Some(name)) => format!("{kind} {name}"),
        (_, None) => {
            let text = String::from_utf8_lossy(line);
            format!("an object without a name: {}", text.chars().take(MAX_SHOWN).collect::<String>())
        }
    };
    let event = if event.is_empty() { "unknown" } else { &event };
    let field = object_field(line, err).map(|path| format!("{path}: ")).unwrap_or_default();
    let text = format!("watch event {event} of {}: {field}{err}", named.trim());
    Error::SerdeError(serde_json::Error::custom(text)).into()
}

/// The path of the invalid field in the object of an event.
fn object_field(line: &[u8], err: &serde_json::Error) -> Option<String> {
    Some(field_path(line, err)?.strip_prefix("object.")?.to_owned())
}

/// How many characters of an undecodable line an error contains.
const MAX_SHOWN: usize = 200;
