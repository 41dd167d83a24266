//! Deletes one object, and waits until it is gone.

use std::ops::ControlFlow;

use either::Either;
use kube_client::error::Error;
use kube_core::params::DeleteParams;

use super::resolve::Target;
use super::result::{ObjectError, ObjectOutcome};
use super::settings::Settings;
use super::written::Written;
use crate::ready::Readiness;
use crate::wait::{WaitError, WaitTarget, first, object_states};

pub(super) async fn delete(
    settings: &Settings,
    target: &Target,
    params: &DeleteParams,
) -> Result<Written, ObjectError> {
    let name = target.name()?;
    let (uid, before) = match target.api.delete(name, params).await {
        Ok(Either::Left(object)) => (object.metadata.uid.clone(), Some(object)),
        Ok(Either::Right(status)) => {
            (status.details.map(|details| details.uid).filter(|uid| !uid.is_empty()), None)
        }
        Err(Error::Api(status)) if status.is_not_found() => {
            return Ok(Written::without_object(ObjectOutcome::NotFound));
        }
        Err(err) => return Err(ObjectError::Request(err)),
    };
    if settings.wait_for_deletion && !params.dry_run {
        wait_until_gone(settings, target, name, uid.as_deref()).await?;
    }
    Ok(Written { outcome: ObjectOutcome::Deleted, before, after: None })
}

/// An object of another uid is a new one of that name, which a controller has created.
async fn wait_until_gone(
    settings: &Settings,
    target: &Target,
    name: &str,
    uid: Option<&str>,
) -> Result<(), ObjectError> {
    let waited = settings.wait_timeout;
    let watched = WaitTarget::new(&target.resource, target.object.metadata.namespace.as_deref(), name);
    let (mut finalizers, mut conditions) = (Vec::new(), Vec::new());
    let gone = first(object_states(settings.client.clone(), watched.clone()), &watched, waited, |state| {
        let Some(object) = state else { return Ok(ControlFlow::Break(())) };
        conditions = Readiness::deletion_conditions(&object);
        let meta = object.metadata;
        let is_new = match uid {
            Some(uid) => meta.uid.as_deref() != Some(uid),
            None => meta.deletion_timestamp.is_none(),
        };
        finalizers = meta.finalizers.unwrap_or_default();
        Ok(if is_new { ControlFlow::Break(()) } else { ControlFlow::Continue("it still exists".to_owned()) })
    });
    match gone.await {
        // The kind itself may be gone, with all its objects.
        Err(WaitError::Request { source, .. }) if source.is_not_found() => Ok(()),
        Err(WaitError::Timeout { .. }) => Err(ObjectError::NotGone { waited, finalizers, conditions }),
        outcome => outcome.map_err(ObjectError::Wait),
    }
}
