//! Deletes one object, and waits until it is gone.

use either::Either;
use kube_core::DynamicObject;
use kube_core::params::DeleteParams;

use super::resolve::Target;
use super::result::{ObjectError, ObjectOutcome};
use super::settings::Settings;
use super::until::until;
use super::written::Written;
use crate::error::Error;

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
    let mut finalizers = Vec::new();
    let gone = until(&target.api, name, |object: Option<&DynamicObject>| {
        let Some(object) = object else { return Some(()) };
        let meta = &object.metadata;
        let is_new = match uid {
            Some(uid) => meta.uid.as_deref() != Some(uid),
            None => meta.deletion_timestamp.is_none(),
        };
        finalizers = meta.finalizers.clone().unwrap_or_default();
        is_new.then_some(())
    });
    match tokio::time::timeout(settings.wait_timeout, gone).await {
        Ok(Ok(())) => Ok(()),
        // The kind itself is gone.
        Ok(Err(Error::Api(status))) if status.is_not_found() => Ok(()),
        Ok(Err(err)) => Err(ObjectError::Request(err)),
        Err(_) => Err(ObjectError::NotGone { waited: settings.wait_timeout, finalizers }),
    }
}
