//! PATCH: applies a patch in the format of its content type and writes the result.

use serde_json::Value;

use super::{apply, update};
use crate::{
    apply::Ownership,
    call::{ApiResponse, Call},
    cluster::ClusterState,
    patch::{self, PatchError},
    route::{FieldValidation, WriteOptions},
    schema::{ErrorList, FieldError, Schema, golang},
    scheme::Endpoint,
    status_error::StatusError,
    webhook::Interruption,
    write::{Kind, body, check_versioned, decode, kind_of, strict, unconvertible},
};

const CUSTOM: &str =
    "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml";

const STRATEGIC: &str = "application/strategic-merge-patch+json";

/// PATCH in the format of the content type.
pub(super) fn patch(cluster: &mut ClusterState, call: &Call) -> Result<ApiResponse, Interruption> {
    let media = body::media_type(&call.content_type);
    if media == "application/apply-patch+yaml" {
        return apply::apply(cluster, call);
    }
    let (endpoint, kind) = (&call.endpoint, kind_of(&call.endpoint));
    let apply = format(kind, media)?;
    let mut options = WriteOptions::parse(&call.query, "PatchOptions")?;
    if options.force.is_some() {
        let error = FieldError::forbidden("force", "may not be specified for non-apply patch");
        return Err(StatusError::invalid_option("PatchOptions", &[error]).into());
    }
    let changes = body::json(&call.body).map_err(|why| unreadable(media, &why))?;
    let stored = cluster.store().get(endpoint.resource.table, &call.key()).ok_or_else(|| call.not_found())?;
    let mut object = call.read(cluster.storage(), stored)?;
    apply(endpoint.schema(), &mut object, &changes).map_err(refused)?;
    check_object(&object)?;
    strict::read_body(call, &mut options);
    let (mut decoded, mut unknown) = (object.clone(), Vec::new());
    let types = kind.decode(endpoint, &mut decoded, &mut unknown);
    check_strictly(&options, unknown, &object)?;
    let is_typed = ["apiVersion", "kind"]
        .iter()
        .all(|field| object[field].as_str().is_some_and(|text| !text.is_empty()));
    if media == STRATEGIC || call.subresource.is_some() && is_typed && !kind.has_go_type() {
        keep_type(endpoint, &mut object);
    }
    let expected = Expected {
        kind: endpoint.kind(),
        api_version: &endpoint.api_version(),
        name: call.object_name(),
        has_go_type: kind.has_go_type(),
    };
    check_decodes(&object, &expected)?;
    types.map_err(|why| undecodable(&object, &why))?;
    decode::check_type(endpoint, &mut object)?;
    decode::set_identity(call, &mut object)?;
    check_versioned(call, &object)?;
    update::change(cluster, call, &options, object, Ownership::FromDiff)
}

type Format = fn(&Schema, &mut Value, &Value) -> Result<(), PatchError>;

/// How patches of a media type are applied.
fn format(kind: &dyn Kind, media: &str) -> Result<Format, StatusError> {
    match media {
        "application/json-patch+json" => Ok(|_, object, patch| patch::json::apply(object, patch)),
        "application/merge-patch+json" => Ok(|_, object, patch| patch::merge::apply(object, patch)),
        STRATEGIC if kind.has_go_type() => Ok(patch::strategic::apply),
        _ if kind.has_go_type() => Err(StatusError::unrouted_media_type()),
        _ => Err(StatusError::unsupported_media_type(CUSTOM)),
    }
}

/// Refuses a result that is not an object.
fn check_object(patched: &Value) -> Result<(), StatusError> {
    if patched.is_object() {
        return Ok(());
    }
    if patched.is_null() {
        return Err(refused(PatchError::NotApplicable("the result is null".into())));
    }
    check_type_meta(patched)
}

fn check_type_meta(patched: &Value) -> Result<(), StatusError> {
    match body::wrong_type_meta(patched) {
        Some(why) => Err(undecodable(patched, &why)),
        None => Ok(()),
    }
}

/// A strategic merge patch cannot change the type of an object, a patch of a part of a custom resource neither.
fn keep_type(endpoint: &Endpoint, object: &mut Value) {
    for (field, value) in [("apiVersion", endpoint.api_version()), ("kind", endpoint.kind().to_owned())] {
        if object[field].is_null() || object[field].is_string() {
            object[field] = value.into();
        }
    }
}

/// Reports what strict validation refuses as an invalid value of the whole patch.
fn check_strictly(options: &WriteOptions, unknown: Vec<String>, patched: &Value) -> Result<(), StatusError> {
    if options.validation != FieldValidation::Strict {
        return Ok(());
    }
    let problems = strict::problems(options, unknown);
    if problems.is_empty() {
        return Ok(());
    }
    Err(undecodable(patched, &format!("strict decoding error: {}", problems.join(", "))))
}

/// What the result of a patch must be.
pub(super) struct Expected<'a> {
    pub(super) kind: &'a str,
    pub(super) api_version: &'a str,
    /// The name in the path.
    pub(super) name: &'a str,
    /// Such objects need not have a kind.
    pub(super) has_go_type: bool,
}

/// Refuses a patch that takes the identity of the object, or gives it another type.
pub(super) fn check_decodes(patched: &Value, expected: &Expected) -> Result<(), StatusError> {
    check_type_meta(patched)?;
    let text = |field: &str| patched[field].as_str().unwrap_or_default();
    let (kind, version) = (text("kind"), text("apiVersion"));
    match (expected.has_go_type, kind, version) {
        (false, "", _) => {
            return Err(undecodable(patched, &format!("Object 'Kind' is missing in '{patched}'")));
        }
        (false, _, "") => {
            return Err(StatusError::internal(
                "Object 'apiVersion' is missing in 'object has no apiVersion field'",
            ));
        }
        (false, kind, version) if (kind, version) != (expected.kind, expected.api_version) => {
            let group = version.rsplit_once('/').map_or("", |(group, _)| group);
            let mut errors = ErrorList::default();
            let fields = [("kind", kind, expected.kind), ("apiVersion", version, expected.api_version)];
            for (field, given, required) in
                fields.into_iter().filter(|(_, given, required)| given != required)
            {
                errors.invalid(field, format!("{given:?}"), &format!("must be {required}"));
            }
            return Err(StatusError::invalid(group, kind, expected.name, &errors));
        }
        // A built-in kind decodes without a version, but to an object without a name.
        (true, _, "") => return Err(StatusError::nameless(expected.name)),
        (true, kind, version) if version != expected.api_version || !["", expected.kind].contains(&kind) => {
            let provided = if kind.is_empty() { expected.kind } else { kind };
            let why = unconvertible((version, provided), (expected.api_version, expected.kind));
            return Err(undecodable(patched, &why));
        }
        _ => {}
    }
    let metadata = &patched["metadata"];
    if !metadata.is_null() && !metadata.is_object() {
        let json = golang::json_type(metadata);
        let into = if expected.has_go_type {
            format!("struct field {}.metadata", expected.kind)
        } else {
            "value".to_owned()
        };
        let why = format!("json: cannot unmarshal {json} into Go {into} of type v1.ObjectMeta");
        return Err(undecodable(patched, &why));
    }
    let name = &metadata["name"];
    if !name.is_null() && !name.is_string() {
        let json = golang::json_type(name);
        let why =
            format!("json: cannot unmarshal {json} into Go struct field ObjectMeta.name of type string");
        return Err(undecodable(patched, &why));
    }
    Ok(())
}

/// The result of a patch is not an object of the kind.
pub(super) fn undecodable(patched: &Value, why: &str) -> StatusError {
    let error = FieldError::invalid("patch", format!("{:?}", patched.to_string()), why);
    StatusError::invalid("", "", "", &[error])
}

/// The refusal of a patch that is no JSON.
pub(super) fn unreadable(media: &str, why: &str) -> StatusError {
    StatusError::bad_request(match media {
        "application/strategic-merge-patch+json" => format!("error decoding patch: {why}"),
        _ => "invalid JSON patch".to_owned(),
    })
}

pub(super) fn refused(error: PatchError) -> StatusError {
    match error {
        PatchError::Malformed(message) => StatusError::bad_request(message),
        PatchError::TooLong { .. } => StatusError::too_large(error.to_string()),
        PatchError::Failed(message) => StatusError::new(http::StatusCode::INTERNAL_SERVER_ERROR, "", message),
        PatchError::NotApplicable(_) => {
            let message = "the server rejected our request due to an error in our request";
            StatusError::new(http::StatusCode::UNPROCESSABLE_ENTITY, "Invalid", message)
                .about(crate::status_error::Details::default())
        }
        PatchError::Invalid { patch, message } => {
            let error = FieldError::invalid("patch", format!("{patch:?}"), &message);
            StatusError::invalid("", "", "", &[error])
        }
    }
}
