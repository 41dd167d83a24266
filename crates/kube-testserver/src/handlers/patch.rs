use serde_json::Value;

use super::{ApiResponse, Call, apply, body, managed_fields::Ownership, update, write};
use crate::{
    cluster::ClusterState,
    patch::{self, PatchError},
    route::{FieldValidation, WriteOptions},
    schema::{FieldError, Schema},
    status_error::StatusError,
};

const CUSTOM: &str =
    "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml";

/// PATCH in the format of the content type.
pub(super) fn patch(cluster: &mut ClusterState, call: &Call) -> Result<ApiResponse, StatusError> {
    if body::media_type(&call.content_type) == "application/apply-patch+yaml" {
        return apply::apply(cluster, call);
    }
    let apply: fn(&Schema, &mut Value, &Value) -> Result<(), PatchError> =
        match body::media_type(&call.content_type) {
            "application/json-patch+json" => |_, object, patch| patch::json::apply(object, patch),
            "application/merge-patch+json" => |_, object, patch| patch::merge::apply(object, patch),
            "application/strategic-merge-patch+json" if !call.endpoint.resource.custom => {
                patch::strategic::apply
            }
            _ if call.endpoint.resource.custom => return Err(StatusError::unsupported_media_type(CUSTOM)),
            _ => return Err(StatusError::unrouted_media_type()),
        };
    let mut options = WriteOptions::parse(&call.query, "PatchOptions")?;
    if options.force.is_some() {
        let error = FieldError::forbidden("force", "may not be specified for non-apply patch");
        return Err(StatusError::invalid_option("PatchOptions", &[error]));
    }
    let changes = body::json(&call.body)
        .map_err(|why| StatusError::bad_request(format!("error decoding patch: {why}")))?;
    let stored =
        cluster.store.get(call.endpoint.resource.table, &call.key()).ok_or_else(|| call.not_found())?;
    let mut object = call.read(cluster, stored)?;
    apply(call.endpoint.schema(), &mut object, &changes).map_err(|error| refused(call, error))?;
    if !object.is_object() {
        return Err(refused(call, PatchError::NotApplicable("the result is not an object".into())));
    }
    options.duplicates = body::duplicates(call);
    check_strictly(call, &options, &object)?;
    body::check_type(&call.endpoint, &mut object)?;
    write::set_identity(call, &mut object)?;
    update::change(cluster, call, &options, object, Ownership::FromDiff)
}

/// Reports what strict validation refuses as an invalid value of the whole patch.
fn check_strictly(call: &Call, options: &WriteOptions, patched: &Value) -> Result<(), StatusError> {
    if options.validation != FieldValidation::Strict {
        return Ok(());
    }
    let problems =
        write::unstrict_fields(&options.duplicates, &call.endpoint.schema().prune(&mut patched.clone()));
    if problems.is_empty() {
        return Ok(());
    }
    let detail = format!("strict decoding error: {}", problems.join(", "));
    let error = FieldError::invalid("patch", format!("{:?}", patched.to_string()), &detail);
    Err(StatusError::invalid("", "", "", &[error]))
}

fn refused(call: &Call, error: PatchError) -> StatusError {
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
            StatusError::invalid(call.endpoint.group(), call.endpoint.kind(), call.object_name(), &[error])
        }
    }
}
