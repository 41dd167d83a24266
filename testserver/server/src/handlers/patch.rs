//! PATCH: applies a patch in the format of its content type and writes the result.

use serde_json::Value;

use super::{apply, body, update, write};
use crate::{
    apply::Ownership,
    call::{ApiResponse, Call},
    cluster::ClusterState,
    patch::{self, PatchError},
    route::{FieldValidation, WriteOptions},
    schema::{FieldError, Schema, golang},
    scheme::Endpoint,
    status_error::StatusError,
    webhook::Interruption,
};

const CUSTOM: &str =
    "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml";

/// What Go reads first of an object.
const TYPE_META: &str =
    r#"struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }"#;
const STRATEGIC: &str = "application/strategic-merge-patch+json";

/// PATCH in the format of the content type.
pub(super) fn patch(cluster: &mut ClusterState, call: &Call) -> Result<ApiResponse, Interruption> {
    if body::media_type(&call.content_type) == "application/apply-patch+yaml" {
        return apply::apply(cluster, call);
    }
    let apply: fn(&Schema, &mut Value, &Value) -> Result<(), PatchError> =
        match body::media_type(&call.content_type) {
            "application/json-patch+json" => |_, object, patch| patch::json::apply(object, patch),
            "application/merge-patch+json" => |_, object, patch| patch::merge::apply(object, patch),
            STRATEGIC if !call.endpoint.resource.custom => patch::strategic::apply,
            _ if call.endpoint.resource.custom => {
                return Err(StatusError::unsupported_media_type(CUSTOM).into());
            }
            _ => return Err(StatusError::unrouted_media_type().into()),
        };
    let mut options = WriteOptions::parse(&call.query, "PatchOptions")?;
    if options.force.is_some() {
        let error = FieldError::forbidden("force", "may not be specified for non-apply patch");
        return Err(StatusError::invalid_option("PatchOptions", &[error]).into());
    }
    let changes = body::json(&call.body)
        .map_err(|why| StatusError::bad_request(format!("error decoding patch: {why}")))?;
    let stored =
        cluster.store().get(call.endpoint.resource.table, &call.key()).ok_or_else(|| call.not_found())?;
    let mut object = call.read(cluster.storage(), stored)?;
    apply(call.endpoint.schema(), &mut object, &changes).map_err(refused)?;
    if object.is_null() {
        return Err(refused(PatchError::NotApplicable("the result is null".into())).into());
    }
    if !object.is_object() {
        let found = golang::json_type(&object);
        let why = format!(
            "couldn't get version/kind; json parse error: json: cannot unmarshal {found} into Go value of type {TYPE_META}"
        );
        return Err(undecodable(&object, &why).into());
    }
    body::strictness(call, &mut options);
    check_strictly(call, &options, &object)?;
    let endpoint = &call.endpoint;
    if body::media_type(&call.content_type) == STRATEGIC {
        keep_type(endpoint, &mut object);
    }
    let expected = Expected {
        kind: endpoint.kind(),
        api_version: &endpoint.api_version(),
        name: call.object_name(),
        built_in: !endpoint.resource.custom,
    };
    check_decodes(&object, &expected)?;
    check_types(endpoint, &object)?;
    body::check_type(&call.endpoint, &mut object)?;
    write::set_identity(call, &mut object)?;
    update::check_versioned(call, &object)?;
    update::change(cluster, call, &options, object, Ownership::FromDiff)
}

/// A strategic merge patch cannot change the type of an object.
fn keep_type(endpoint: &Endpoint, object: &mut Value) {
    for (field, value) in [("apiVersion", endpoint.api_version()), ("kind", endpoint.kind().to_owned())] {
        if object[field].is_null() || object[field].is_string() {
            object[field] = value.into();
        }
    }
}

/// Reports what strict validation refuses as an invalid value of the whole patch.
fn check_strictly(call: &Call, options: &WriteOptions, patched: &Value) -> Result<(), StatusError> {
    if options.validation != FieldValidation::Strict {
        return Ok(());
    }
    let unknown = call.endpoint.schema().prune(&mut patched.clone());
    let problems = write::unstrict_fields(&call.endpoint, options, unknown);
    if problems.is_empty() {
        return Ok(());
    }
    let detail = format!("strict decoding error: {}", problems.join(", "));
    Err(undecodable(patched, &detail))
}

/// What the result of a patch must be.
pub(super) struct Expected<'a> {
    pub(super) kind: &'a str,
    pub(super) api_version: &'a str,
    /// The name in the path.
    pub(super) name: &'a str,
    /// Objects of built-in kinds need not have a kind.
    pub(super) built_in: bool,
}

/// Refuses a patch that takes the identity of the object, or gives it another type.
pub(super) fn check_decodes(patched: &Value, expected: &Expected) -> Result<(), StatusError> {
    for field in ["kind", "apiVersion"] {
        let value = &patched[field];
        if !value.is_null() && !value.is_string() {
            let found = golang::json_type(value);
            let why = format!("cannot unmarshal {found} into Go struct field .{field} of type string");
            return Err(undecodable(
                patched,
                &format!("couldn't get version/kind; json parse error: json: {why}"),
            ));
        }
    }
    let text = |field: &str| patched[field].as_str().unwrap_or_default();
    let (kind, version) = (text("kind"), text("apiVersion"));
    match (expected.built_in, kind, version) {
        (false, "", _) => {
            return Err(undecodable(patched, &format!("Object 'Kind' is missing in '{patched}'")));
        }
        (false, _, "") => {
            return Err(StatusError::internal(
                "Object 'apiVersion' is missing in 'object has no apiVersion field'",
            ));
        }
        (false, kind, version) if kind == expected.kind && version != expected.api_version => {
            let group = version.rsplit_once('/').map_or("", |(group, _)| group);
            let why = format!("must be {}", expected.api_version);
            let error = FieldError::invalid("apiVersion", format!("{version:?}"), &why);
            return Err(StatusError::invalid(group, kind, expected.name, &[error]));
        }
        // A built-in kind decodes without a version, but to an object without a name.
        (true, _, "") => return Err(StatusError::nameless(expected.name)),
        (true, _, version) if version != expected.api_version => {
            let why = format!("no kind {kind:?} is registered for version {version:?}");
            return Err(undecodable(patched, &why));
        }
        (true, kind, version) if !kind.is_empty() && kind != expected.kind => {
            let version = version.rsplit('/').next().unwrap_or_default();
            let why = format!("converting ({version}.{kind}) to ({}): unknown conversion", expected.kind);
            return Err(undecodable(patched, &why));
        }
        _ => {}
    }
    let metadata = &patched["metadata"];
    if !metadata.is_null() && !metadata.is_object() {
        let found = golang::json_type(metadata);
        let why = format!("json: cannot unmarshal {found} into Go value of type v1.ObjectMeta");
        return Err(undecodable(patched, &why));
    }
    let name = &metadata["name"];
    if !name.is_null() && !name.is_string() {
        let found = golang::json_type(name);
        let why =
            format!("json: cannot unmarshal {found} into Go struct field ObjectMeta.name of type string");
        return Err(undecodable(patched, &why));
    }
    Ok(())
}

/// Refuses values of a wrong type in the result, as it would be stored.
fn check_types(endpoint: &Endpoint, patched: &Value) -> Result<(), StatusError> {
    let mut object = patched.clone();
    endpoint.schema().prune(&mut object);
    endpoint.schema().drop_nulls(&mut object);
    write::wrong_type(endpoint, &object).map_or(Ok(()), |why| Err(undecodable(patched, &why)))
}

/// The result of a patch is not an object of the kind.
pub(super) fn undecodable(patched: &Value, why: &str) -> StatusError {
    let error = FieldError::invalid("patch", format!("{:?}", patched.to_string()), why);
    StatusError::invalid("", "", "", &[error])
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
