use serde_json::Value;

use super::{Answer, Call, apply, body, managed::Ownership, update, write};
use crate::{
    failure::Failure,
    patch::{self, PatchError},
    route::{FieldValidation, WriteOptions},
    schema::{FieldError, Schema},
    world::World,
};

const CUSTOM: &str =
    "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml";

/// PATCH in the format that the content type names.
pub(super) fn patch(world: &mut World, call: &Call) -> Result<Answer, Failure> {
    if body::media_type(&call.content_type) == "application/apply-patch+yaml" {
        return apply::apply(world, call);
    }
    let apply: fn(&Schema, &mut Value, &Value) -> Result<(), PatchError> =
        match body::media_type(&call.content_type) {
            "application/json-patch+json" => |_, object, patch| patch::json::apply(object, patch),
            "application/merge-patch+json" => |_, object, patch| patch::merge::apply(object, patch),
            "application/strategic-merge-patch+json" if !call.endpoint.resource.custom => {
                patch::strategic::apply
            }
            _ if call.endpoint.resource.custom => return Err(Failure::unsupported_media_type(CUSTOM)),
            _ => return Err(Failure::unrouted_media_type()),
        };
    let mut options = WriteOptions::parse(&call.query, "PatchOptions")?;
    if options.force.is_some() {
        let error = FieldError::forbidden("force", "may not be specified for non-apply patch");
        return Err(Failure::invalid_option("PatchOptions", &[error]));
    }
    let changes =
        body::json(&call.body).map_err(|why| Failure::bad_request(format!("error decoding patch: {why}")))?;
    let stored =
        world.store.get(call.endpoint.resource.table, &call.key()).ok_or_else(|| call.not_found())?;
    let mut object = call.read(world, stored)?;
    apply(call.endpoint.schema(), &mut object, &changes).map_err(|error| refused(call, error))?;
    if !object.is_object() {
        return Err(refused(call, PatchError::DoesNotFit("the result is no object".into())));
    }
    options.repeated = body::repeated(call);
    check_strictly(call, &options, &object)?;
    body::check_type(&call.endpoint, &mut object)?;
    write::place(call, &mut object)?;
    update::change(world, call, &options, object, Ownership::Compared)
}

/// What strict validation refuses in a body, it refuses of a patch as a value of the whole patch.
fn check_strictly(call: &Call, options: &WriteOptions, patched: &Value) -> Result<(), Failure> {
    if options.validation != FieldValidation::Strict {
        return Ok(());
    }
    let problems = write::lax(&options.repeated, &call.endpoint.schema().prune(&mut patched.clone()));
    if problems.is_empty() {
        return Ok(());
    }
    let detail = format!("strict decoding error: {}", problems.join(", "));
    let error = FieldError::invalid("patch", format!("{:?}", patched.to_string()), &detail);
    Err(Failure::invalid("", "", "", &[error]))
}

fn refused(call: &Call, error: PatchError) -> Failure {
    match error {
        PatchError::Malformed(message) => Failure::bad_request(message),
        PatchError::TooLong { .. } => Failure::too_large(error.to_string()),
        PatchError::Failed(message) => Failure::new(http::StatusCode::INTERNAL_SERVER_ERROR, "", message),
        PatchError::DoesNotFit(_) => {
            let message = "the server rejected our request due to an error in our request";
            Failure::new(http::StatusCode::UNPROCESSABLE_ENTITY, "Invalid", message)
                .about(crate::failure::Details::default())
        }
        PatchError::Invalid { patch, message } => {
            let error = FieldError::invalid("patch", format!("{patch:?}"), &message);
            Failure::invalid(call.endpoint.group(), call.endpoint.kind(), call.object_name(), &[error])
        }
    }
}
