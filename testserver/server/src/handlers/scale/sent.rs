//! The Scale of a PUT, or a Scale with a patch.

use serde_json::Value;

use super::shown::{self, API_VERSION};
use crate::{
    call::Call,
    gotypes,
    handlers::patch::{self as patches, Expected},
    patch,
    route::{FieldValidation, WriteOptions},
    status_error::StatusError,
    write::{body, decode, strict},
};

/// What a write asks for: a Scale, and the warnings about it.
pub(super) struct Sent {
    pub(super) scale: Value,
    pub(super) options: WriteOptions,
    pub(super) warnings: Vec<String>,
}

/// The Scale of a PUT.
pub(super) fn replaced(call: &Call) -> Result<Sent, StatusError> {
    let mut options = WriteOptions::parse(&call.query, "UpdateOptions")?;
    let mut scale = body::posted(call, "Scale")?;
    strict::read_body_as(call, &mut options, true);
    let unreadable = |why: String| {
        StatusError::bad_request(format!("Scale in version \"v1\" cannot be handled as a Scale: {why}"))
    };
    let unknown = decoded(&mut scale).map_err(unreadable)?;
    let warnings = checked(&options, unknown, |why| match call.endpoint.resource.custom {
        // The genuine server cannot say more about a type that is not of custom resources.
        true => StatusError::bad_request(
            "no kind is registered for the type v1.Scale in scheme \"pkg/runtime/scheme.go:111\"",
        ),
        false => unreadable(why),
    })?;
    decode::set_identity(call, &mut scale)?;
    Ok(Sent { scale, options, warnings })
}

/// The Scale with a patch in the format of its content type.
pub(super) fn patched(call: &Call, scale: &Value) -> Result<Sent, StatusError> {
    let mut options = WriteOptions::parse(&call.query, "PatchOptions")?;
    let mut scale = scale.clone();
    let media = body::media_type(&call.content_type);
    let strategic = media == "application/strategic-merge-patch+json" && !call.endpoint.resource.custom;
    if !strategic && !matches!(media, "application/json-patch+json" | "application/merge-patch+json") {
        let accepted =
            "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml";
        return Err(StatusError::unsupported_media_type(accepted));
    }
    let changes = body::json(&call.body).map_err(|why| patches::unreadable(media, &why))?;
    let result = match media {
        "application/json-patch+json" => patch::json::apply(&mut scale, &changes),
        "application/merge-patch+json" => patch::merge::apply(&mut scale, &changes),
        _ => patch::strategic::apply(shown::schema(), &mut scale, &changes),
    };
    result.map_err(patches::refused)?;
    if strategic {
        // Such a patch cannot change the type.
        scale["apiVersion"] = API_VERSION.into();
        scale["kind"] = "Scale".into();
    }
    let expected =
        Expected { kind: "Scale", api_version: API_VERSION, name: call.object_name(), has_go_type: true };
    patches::check_decodes(&scale, &expected)?;
    strict::read_body_as(call, &mut options, true);
    let patched = scale.clone();
    let unknown = decoded(&mut scale).map_err(|why| patches::undecodable(&patched, &why))?;
    let warnings = checked(&options, unknown, |why| patches::undecodable(&patched, &why))?;
    Ok(Sent { scale, options, warnings })
}

/// Reads a Scale as Go does. Returns the paths of its unknown fields, in order.
fn decoded(scale: &mut Value) -> Result<Vec<String>, String> {
    let mut unknown = shown::schema().prune(scale);
    unknown.sort();
    gotypes::decode(shown::go_type(), scale)?;
    Ok(unknown)
}

/// Refuses unknown and duplicate fields under strict validation, else returns the warnings of them.
fn checked(
    options: &WriteOptions,
    unknown: Vec<String>,
    refuse: impl FnOnce(String) -> StatusError,
) -> Result<Vec<String>, StatusError> {
    let problems = match options.validation {
        FieldValidation::Ignore => Vec::new(),
        FieldValidation::Warn | FieldValidation::Strict => strict::problems(options, unknown),
    };
    if options.validation == FieldValidation::Strict && !problems.is_empty() {
        return Err(refuse(format!("strict decoding error: {}", problems.join(", "))));
    }
    Ok(strict::once(problems))
}
