//! Writes one object.

use kube_client::error::{Error, FieldConflict};
use kube_core::DynamicObject;
use kube_core::params::{DeleteParams, Patch, PatchParams, PostParams, ValidationDirective};

use super::comparable::comparable;
use super::delete::{await_deletion, request_deletion};
use super::places::Places;
use super::resolve::Target;
use super::result::{ObjectError, ObjectOutcome};
use super::settings::Settings;
use super::written::Written;
use crate::apply::{adopt, client_side_managers};

/// What a run does with each object.
#[derive(Clone, Debug)]
pub(super) enum Verb {
    Apply(PatchParams),
    Create(PostParams),
    Delete(DeleteParams),
}

impl Verb {
    pub(super) fn is_dry_run(&self) -> bool {
        match self {
            Self::Apply(params) => params.dry_run,
            Self::Create(params) => params.dry_run,
            Self::Delete(params) => params.dry_run,
        }
    }

    pub(super) fn is_delete(&self) -> bool {
        matches!(self, Self::Delete(_))
    }
}

pub(super) async fn write(settings: &Settings, places: &Places, target: &Target, verb: &Verb) -> Written {
    let place = places.to_write().await;
    let written = match verb {
        Verb::Apply(params) => apply(target, params).await,
        Verb::Create(params) => create(target, params).await,
        Verb::Delete(params) => match request_deletion(settings, target, params).await {
            Ok(requested) => {
                drop(place);
                await_deletion(settings, places, target, params, requested).await
            }
            Err(err) => Err(err),
        },
    };
    written.unwrap_or_else(|err| Written::without_object(ObjectOutcome::Failed(err)))
}

/// Whether an apply changed something is seen from the state before: the response does not tell.
///
/// What was applied on the client side before belongs to another manager, whose fields an apply does not remove. As kubectl does, they are
/// taken over, and the object is applied once more.
async fn apply(target: &Target, params: &PatchParams) -> Result<Written, ObjectError> {
    let name = target.name()?;
    let before = target.api.get_opt(name).await.map_err(ObjectError::Request)?;
    let mut params = params.clone();
    params.field_validation.get_or_insert(ValidationDirective::Strict);
    let mut applied = send(target, name, &params).await;
    if let Ok(after) = &applied
        && !params.dry_run
        && take_over(target, name, &params, after).await?
    {
        applied = send(target, name, &params).await;
    }
    let after = match applied {
        Ok(after) => after,
        Err(Error::Api(status)) => {
            let conflicts = FieldConflict::of(&status);
            return match conflicts.is_empty() {
                true => Err(ObjectError::Request(Error::Api(status))),
                false => Ok(Written { outcome: ObjectOutcome::Conflict(conflicts), before, after: None }),
            };
        }
        Err(err) => return Err(ObjectError::Request(err)),
    };
    let outcome = match &before {
        None => ObjectOutcome::Created,
        Some(before) if is_unchanged(before, &after, params.dry_run) => ObjectOutcome::Unchanged,
        Some(_) => ObjectOutcome::Configured,
    };
    Ok(Written { outcome, before, after: Some(after) })
}

async fn send(target: &Target, name: &str, params: &PatchParams) -> Result<DynamicObject, Error> {
    target.api.patch(name, params, &Patch::Apply(&target.object)).await
}

/// Makes what was applied on the client side what this manager applies. Returns whether there was any.
async fn take_over(
    target: &Target,
    name: &str,
    params: &PatchParams,
    applied: &DynamicObject,
) -> Result<bool, ObjectError> {
    let former = client_side_managers(applied.metadata.managed_fields.as_deref().unwrap_or_default());
    let (Some(manager), false) = (&params.field_manager, former.is_empty()) else { return Ok(false) };
    adopt(target.api.clone(), name, &former, manager).await.map_err(ObjectError::Request)
}

/// A dry run changes no resourceVersion. And a new one may be for managed fields alone, as at the second apply of a Namespace.
fn is_unchanged(before: &DynamicObject, after: &DynamicObject, dry_run: bool) -> bool {
    let same_version = before.metadata.resource_version == after.metadata.resource_version;
    (same_version && !dry_run) || comparable(before) == comparable(after)
}

async fn create(target: &Target, params: &PostParams) -> Result<Written, ObjectError> {
    let created = target.api.create(params, &target.object).await.map_err(ObjectError::Request)?;
    Ok(Written { outcome: ObjectOutcome::Created, before: None, after: Some(created) })
}
