//! The plugins that are neither policies nor webhooks, in the order of a cluster.

use serde_json::Value;

use super::{default_class, limit_ranger, priority, quota, runtime_class, service_account, tolerations};
use crate::{
    admission::{AdmissionPlugin, Objects, Write},
    status_error::StatusError,
};

/// Changes an object before it is validated. `new_volume` generates the name of a volume.
pub(crate) fn mutate(
    enabled: &[AdmissionPlugin],
    objects: Objects<'_>,
    new_volume: &dyn Fn(&str) -> String,
    write: &Write<'_>,
    object: &mut Value,
) -> Result<(), StatusError> {
    for plugin in enabled {
        match plugin {
            AdmissionPlugin::LimitRanger => limit_ranger::mutate(objects, write, object),
            AdmissionPlugin::ServiceAccount => service_account::mutate(objects, new_volume, write, object)?,
            AdmissionPlugin::Priority => priority::mutate(objects, write, object)?,
            AdmissionPlugin::DefaultTolerationSeconds => tolerations::mutate(write, object),
            AdmissionPlugin::DefaultStorageClass => default_class::mutate_claim(objects, write, object),
            AdmissionPlugin::RuntimeClass => runtime_class::mutate(objects, write, object)?,
            AdmissionPlugin::DefaultIngressClass => default_class::mutate_ingress(objects, write, object),
            _ => {}
        }
    }
    Ok(())
}

/// Checks the object as it will be stored, before validating policies and webhooks do.
pub(crate) fn validate(
    enabled: &[AdmissionPlugin],
    objects: Objects<'_>,
    write: &Write<'_>,
    object: &Value,
) -> Result<(), StatusError> {
    for plugin in enabled {
        match plugin {
            AdmissionPlugin::LimitRanger => limit_ranger::validate(objects, write, object)?,
            AdmissionPlugin::Priority => priority::validate(objects, write, object)?,
            AdmissionPlugin::RuntimeClass => runtime_class::validate(objects, write, object)?,
            _ => {}
        }
    }
    Ok(())
}

/// Checks what the object uses; the last check of all, when nothing else can refuse the object any more.
pub(crate) fn validate_usage(
    enabled: &[AdmissionPlugin],
    objects: Objects<'_>,
    write: &Write<'_>,
    object: &Value,
) -> Result<(), StatusError> {
    if !enabled.contains(&AdmissionPlugin::ResourceQuota) {
        return Ok(());
    }
    quota::validate(objects, write, object)
}
