//! Volumes on disks of storage systems: how their sources name a disk.

use serde_json::Value;

use super::{
    super::formats,
    values::{invalid, is_set, named, text},
};
use crate::{object::names, schema::FieldError};

pub(super) fn iscsi(value: &Value, at: &str, errors: &mut Vec<FieldError>) {
    let authenticates = value["chapAuthDiscovery"] == true || value["chapAuthSession"] == true;
    if authenticates && value["secretRef"].is_null() {
        errors.push(FieldError::required(format!("{at}.secretRef"), ""));
    }
    let initiator = value["initiatorName"].as_str();
    if let Some(why) = initiator.and_then(formats::iscsi_name) {
        // As genuine servers spell it.
        invalid(errors, format!("{at}.initiatorname"), &value["initiatorName"], &why);
    }
}

pub(super) fn fibre_channel(value: &Value, at: &str, errors: &mut Vec<FieldError>) {
    let given = |list: &str| value[list].as_array().is_some_and(|list| !list.is_empty());
    let place = format!("{at}.targetWWNs");
    match (given("targetWWNs"), given("wwids")) {
        (false, false) => {
            errors.push(FieldError::required(place, "must specify either targetWWNs or wwids, but not both"));
        }
        (true, true) => {
            let why = "targetWWNs and wwids can not be specified simultaneously";
            invalid(errors, place, &value["targetWWNs"], why);
        }
        (true, false) => match value["lun"].as_i64() {
            None => {
                let why = "lun is required if targetWWNs is specified";
                errors.push(FieldError::required(format!("{at}.lun"), why));
            }
            Some(0..=255) => {}
            Some(_) => {
                let why = "must be between 0 and 255, inclusive";
                invalid(errors, format!("{at}.lun"), &value["lun"], why);
            }
        },
        (false, true) => {}
    }
}

pub(super) fn flocker(value: &Value, at: &str, errors: &mut Vec<FieldError>) {
    let (name, id) = (text(value, "datasetName"), text(value, "datasetUUID"));
    match (name.is_empty(), id.is_empty()) {
        (true, true) => {
            errors.push(FieldError::required(at, "one of datasetName and datasetUUID is required"));
        }
        (false, false) => {
            let why = "datasetName and datasetUUID can not be specified simultaneously";
            errors.push(FieldError::invalid(at, "\"resource\"", why));
        }
        _ => {}
    }
}

pub(super) fn google(value: &Value, at: &str, errors: &mut Vec<FieldError>) {
    // As genuine servers spell it.
    let at = at.replace("gcePersistentDisk", "persistentDisk");
    if text(value, "pdName").is_empty() {
        errors.push(FieldError::required(format!("{at}.pdName"), ""));
    }
    if value["partition"].as_i64().is_some_and(|partition| !(0..=255).contains(&partition)) {
        let why = "must be between 1 and 255, inclusive";
        invalid(errors, format!("{at}.partition"), &value["partition"], why);
    }
}

pub(super) fn azure(value: &Value, at: &str, errors: &mut Vec<FieldError>) {
    let (managed, address) = (text(value, "kind") == "Managed", text(value, "diskURI"));
    let (prefix, form) = match managed {
        true => (
            "/subscriptions",
            "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}",
        ),
        false => {
            ("https://", "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd")
        }
    };
    if !address.starts_with(prefix) {
        errors.push(FieldError::not_supported(format!("{at}.diskURI"), format!("{address:?}"), &[form]));
    }
}

pub(super) fn storage_os(value: &Value, at: &str, errors: &mut Vec<FieldError>) {
    for member in ["volumeName", "volumeNamespace"] {
        let (place, name) = (format!("{at}.{member}"), text(value, member));
        if name.is_empty() && member == "volumeName" {
            errors.push(FieldError::required(place, ""));
        } else if let Some(why) = Some(name).filter(|name| !name.is_empty()).and_then(names::dns_label) {
            invalid(errors, place, &value[member], &why);
        }
    }
    named(&value["secretRef"], &format!("{at}.secretRef"), errors);
}

/// The secret is another object, and its reference names both.
pub(super) fn persistent_storage_os(value: &Value, at: &str, errors: &mut Vec<FieldError>) {
    let secret = &value["secretRef"];
    for member in ["name", "namespace"] {
        if is_set(secret) && text(secret, member).is_empty() {
            errors.push(FieldError::required(format!("{at}.secretRef.{member}"), ""));
        }
    }
}

pub(super) fn quobyte(value: &Value, at: &str, errors: &mut Vec<FieldError>) {
    let registry = text(value, "registry");
    if !registry.is_empty() && !registry.split(',').all(|pair| pair.contains(':')) {
        let why = "must be a host:port pair or multiple pairs separated by commas";
        invalid(errors, format!("{at}.registry"), &value["registry"], why);
    }
    if text(value, "tenant").len() > 64 {
        let why = "must be a UUID and may not exceed a length of 64 characters";
        errors.push(FieldError::required(format!("{at}.tenant"), why));
    }
}

pub(super) fn cinder(value: &Value, at: &str, errors: &mut Vec<FieldError>) {
    named(&value["secretRef"], &format!("{at}.secretRef"), errors);
}

/// The source of a driver in a pod.
pub(super) fn driver(value: &Value, at: &str, errors: &mut Vec<FieldError>) {
    let secret = &value["nodePublishSecretRef"];
    named(secret, &format!("{at}.nodePublishSecretRef"), errors);
    let name = Some(text(secret, "name")).filter(|name| !name.is_empty());
    if let Some(why) = name.and_then(names::subdomain) {
        // As genuine servers spell it.
        invalid(errors, format!("{at}.name"), &secret["name"], &why);
    }
}
