//! The plugins that are neither policies nor webhooks, in the order of a cluster.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{limit_ranger, priority, quota, storage_class};
use crate::{
    admission::{AdmissionPlugin, Objects, Write},
    status_error::StatusError,
};

/// Changes an object before it is validated.
pub(crate) fn mutate(
    disabled: &BTreeSet<AdmissionPlugin>,
    objects: Objects<'_>,
    write: &Write<'_>,
    object: &mut Value,
) -> Result<(), StatusError> {
    for plugin in AdmissionPlugin::ALL.iter().filter(|plugin| !disabled.contains(plugin)) {
        match plugin {
            AdmissionPlugin::LimitRanger => limit_ranger::mutate(objects, write, object),
            AdmissionPlugin::Priority => priority::mutate(objects, write, object)?,
            AdmissionPlugin::DefaultStorageClass => storage_class::mutate(objects, write, object),
            AdmissionPlugin::MutatingAdmissionPolicy
            | AdmissionPlugin::ValidatingAdmissionPolicy
            | AdmissionPlugin::MutatingAdmissionWebhook
            | AdmissionPlugin::ValidatingAdmissionWebhook
            | AdmissionPlugin::ResourceQuota => {}
        }
    }
    Ok(())
}

/// Checks the object as it will be stored, before validating policies and webhooks do.
pub(crate) fn validate(
    disabled: &BTreeSet<AdmissionPlugin>,
    objects: Objects<'_>,
    write: &Write<'_>,
    object: &Value,
) -> Result<(), StatusError> {
    for plugin in AdmissionPlugin::ALL.iter().filter(|plugin| !disabled.contains(plugin)) {
        match plugin {
            AdmissionPlugin::LimitRanger => limit_ranger::validate(objects, write, object)?,
            AdmissionPlugin::Priority => priority::validate(objects, write, object)?,
            AdmissionPlugin::DefaultStorageClass
            | AdmissionPlugin::MutatingAdmissionPolicy
            | AdmissionPlugin::ValidatingAdmissionPolicy
            | AdmissionPlugin::MutatingAdmissionWebhook
            | AdmissionPlugin::ValidatingAdmissionWebhook
            | AdmissionPlugin::ResourceQuota => {}
        }
    }
    Ok(())
}

/// Checks what the object uses; the last check of all, when nothing else can refuse the object any more.
pub(crate) fn validate_usage(
    disabled: &BTreeSet<AdmissionPlugin>,
    objects: Objects<'_>,
    write: &Write<'_>,
    object: &Value,
) -> Result<(), StatusError> {
    if disabled.contains(&AdmissionPlugin::ResourceQuota) {
        return Ok(());
    }
    quota::validate(objects, write, object)
}
