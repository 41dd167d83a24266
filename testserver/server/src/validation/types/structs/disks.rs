//! Volumes on disks of storage systems: how their sources name a disk.

use serde_json::Value;

use super::{
    super::formats,
    values::{is_set, named, text},
};
use crate::{object::names, schema::ErrorList};

pub(super) fn iscsi(value: &Value, at: &str, errors: &mut ErrorList) {
    let authenticates = value["chapAuthDiscovery"] == true || value["chapAuthSession"] == true;
    if authenticates && value["secretRef"].is_null() {
        errors.required(format!("{at}.secretRef"), "");
    }
    let initiator = value["initiatorName"].as_str();
    if let Some(why) = initiator.and_then(formats::iscsi_name) {
        // As genuine servers spell it.
        errors.invalid(format!("{at}.initiatorname"), &value["initiatorName"], &why);
    }
}

pub(super) fn fibre_channel(value: &Value, at: &str, errors: &mut ErrorList) {
    let given = |list: &str| value[list].as_array().is_some_and(|list| !list.is_empty());
    let place = format!("{at}.targetWWNs");
    match (given("targetWWNs"), given("wwids")) {
        (false, false) => errors.required(place, "must specify either targetWWNs or wwids, but not both"),
        (true, true) => {
            let why = "targetWWNs and wwids can not be specified simultaneously";
            errors.invalid(place, &value["targetWWNs"], why);
        }
        (true, false) => match value["lun"].as_i64() {
            None => errors.required(format!("{at}.lun"), "lun is required if targetWWNs is specified"),
            Some(0..=255) => {}
            Some(_) => {
                errors.invalid(format!("{at}.lun"), &value["lun"], "must be between 0 and 255, inclusive");
            }
        },
        (false, true) => {}
    }
}

pub(super) fn flocker(value: &Value, at: &str, errors: &mut ErrorList) {
    let (name, id) = (text(value, "datasetName"), text(value, "datasetUUID"));
    match (name.is_empty(), id.is_empty()) {
        (true, true) => errors.required(at, "one of datasetName and datasetUUID is required"),
        (false, false) => {
            let why = "datasetName and datasetUUID can not be specified simultaneously";
            errors.invalid(at, "\"resource\"", why);
        }
        _ => {}
    }
}

pub(super) fn google(value: &Value, at: &str, errors: &mut ErrorList) {
    // As genuine servers spell it.
    let at = at.replace("gcePersistentDisk", "persistentDisk");
    if text(value, "pdName").is_empty() {
        errors.required(format!("{at}.pdName"), "");
    }
    if value["partition"].as_i64().is_some_and(|partition| !(0..=255).contains(&partition)) {
        let why = "must be between 1 and 255, inclusive";
        errors.invalid(format!("{at}.partition"), &value["partition"], why);
    }
}

pub(super) fn azure(value: &Value, at: &str, errors: &mut ErrorList) {
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
        errors.not_supported(format!("{at}.diskURI"), format!("{address:?}"), &[form]);
    }
}

pub(super) fn storage_os(value: &Value, at: &str, errors: &mut ErrorList) {
    for member in ["volumeName", "volumeNamespace"] {
        let (place, name) = (format!("{at}.{member}"), text(value, member));
        if name.is_empty() && member == "volumeName" {
            errors.required(place, "");
        } else if let Some(why) = Some(name).filter(|name| !name.is_empty()).and_then(names::dns_label) {
            errors.invalid(place, &value[member], &why);
        }
    }
    named(&value["secretRef"], &format!("{at}.secretRef"), errors);
}

/// The secret is another object, and its reference names both.
pub(super) fn persistent_storage_os(value: &Value, at: &str, errors: &mut ErrorList) {
    let secret = &value["secretRef"];
    for member in ["name", "namespace"] {
        if is_set(secret) && text(secret, member).is_empty() {
            errors.required(format!("{at}.secretRef.{member}"), "");
        }
    }
}

pub(super) fn quobyte(value: &Value, at: &str, errors: &mut ErrorList) {
    let registry = text(value, "registry");
    if !registry.is_empty() && !registry.split(',').all(|pair| pair.contains(':')) {
        let why = "must be a host:port pair or multiple pairs separated by commas";
        errors.invalid(format!("{at}.registry"), &value["registry"], why);
    }
    if text(value, "tenant").len() > 64 {
        let why = "must be a UUID and may not exceed a length of 64 characters";
        errors.required(format!("{at}.tenant"), why);
    }
}

pub(super) fn cinder(value: &Value, at: &str, errors: &mut ErrorList) {
    named(&value["secretRef"], &format!("{at}.secretRef"), errors);
}

/// The source of a driver in a pod.
pub(super) fn driver(value: &Value, at: &str, errors: &mut ErrorList) {
    let secret = &value["nodePublishSecretRef"];
    named(secret, &format!("{at}.nodePublishSecretRef"), errors);
    let name = Some(text(secret, "name")).filter(|name| !name.is_empty());
    if let Some(why) = name.and_then(names::subdomain) {
        // As genuine servers spell it.
        errors.invalid(format!("{at}.name"), &secret["name"], &why);
    }
}
