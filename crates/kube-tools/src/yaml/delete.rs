//! Deletes one object: the request, and the wait until it is gone.

use std::ops::ControlFlow;
use std::time::Duration;

use either::Either;
use kube_client::error::{Error, ErrorClass};
use kube_core::params::DeleteParams;
use kube_core::{ApiResource, DynamicObject, GroupVersionKind};
use tokio::time::Instant;

use super::places::Places;
use super::resolve::Target;
use super::result::{ObjectError, ObjectOutcome};
use super::settings::Settings;
use super::written::Written;
use crate::ready::Readiness;
use crate::wait::{WaitError, WaitTarget, first, object_states};

/// What the server has answered to a deletion.
pub(super) enum Requested {
    NotFound,
    Deleted {
        uid: Option<String>,
        /// If it is still there.
        before: Option<Box<DynamicObject>>,
        at: Instant,
    },
}

/// Requests the deletion. The object may stay for some time.
pub(super) async fn request_deletion(
    settings: &Settings,
    target: &Target,
    params: &DeleteParams,
) -> Result<Requested, ObjectError> {
    let (uid, before) = match target.api.delete(target.name()?, params).await {
        Ok(Either::Left(object)) => (object.metadata.uid.clone(), Some(Box::new(object))),
        Ok(Either::Right(status)) => {
            (status.details.map(|details| details.uid).filter(|uid| !uid.is_empty()), None)
        }
        Err(err) if is_gone(settings, target, &err).await => return Ok(Requested::NotFound),
        Err(err) => return Err(ObjectError::Request(err)),
    };
    Ok(Requested::Deleted { uid, before, at: Instant::now() })
}

/// Waits until the object is gone, if the run waits for that. Its time runs since the request; if no place was free in all of it, the
/// object is looked at once.
pub(super) async fn await_deletion(
    settings: &Settings,
    places: &Places,
    target: &Target,
    params: &DeleteParams,
    requested: Requested,
) -> Result<Written, ObjectError> {
    let Requested::Deleted { uid, before, at } = requested else {
        return Ok(Written::without_object(ObjectOutcome::NotFound));
    };
    if settings.wait_for_deletion && !params.dry_run {
        let _place = places.to_wait().await;
        let left = settings.wait_timeout.saturating_sub(at.elapsed());
        wait_until_gone(settings, target, left, uid.as_deref()).await?;
    }
    Ok(Written { outcome: ObjectOutcome::Deleted, before: before.map(|object| *object), after: None })
}

/// An object of another uid is a new one of that name, which a controller has created.
async fn wait_until_gone(
    settings: &Settings,
    target: &Target,
    timeout: Duration,
    uid: Option<&str>,
) -> Result<(), ObjectError> {
    let (name, waited) = (target.name()?, settings.wait_timeout);
    let watched = WaitTarget::new(&target.resource, target.object.metadata.namespace.as_deref(), name);
    let (mut finalizers, mut conditions) = (Vec::new(), Vec::new());
    let gone = first(object_states(settings.client.clone(), watched.clone()), &watched, timeout, |state| {
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
        Err(WaitError::Request { source, .. }) if is_gone(settings, target, &source).await => Ok(()),
        Err(WaitError::Timeout { .. }) => Err(ObjectError::NotGone { waited, finalizers, conditions }),
        outcome => outcome.map_err(ObjectError::Wait),
    }
}

/// Whether the error says that the object does not exist. Where the path itself is not served, its kind may be gone, with all its objects:
/// discovery has to say so, because a server that starts does not serve custom resources at first, and a load balancer has paths of its
/// own.
async fn is_gone(settings: &Settings, target: &Target, error: &Error) -> bool {
    match ErrorClass::of(error) {
        ErrorClass::NotFound => true,
        ErrorClass::UnknownKind => {
            let ApiResource { group, version, kind, .. } = &target.resource;
            settings.mapper.invalidate();
            let kind = settings.mapper.kind(&GroupVersionKind::gvk(group, version, kind)).await;
            kind.is_err_and(|error| error.is_no_match())
        }
        _ => false,
    }
}
