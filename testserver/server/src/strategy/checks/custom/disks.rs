//! Sources of volumes outside of the cluster, which many drivers have taken over: rules of more than one field.

use serde_json::Value;

use super::{
    super::formats,
    values::{invalid, is_set, items, text},
};
use crate::schema::FieldError;

pub(super) fn iscsi(value: &Value, at: &str, errors: &mut Vec<FieldError>) {
    if (value["chapAuthDiscovery"] == true || value["chapAuthSession"] == true)
        && value["secretRef"].is_null()
    {
        errors.push(FieldError::required(format!("{at}.secretRef"), ""));
    }
    let initiator = &value["initiatorName"];
    if let Some(why) = initiator.as_str().and_then(|name| formats::problem("iscsi-name", name)) {
        invalid(errors, format!("{at}.initiatorname"), initiator, &why);
    }
}

pub(super) fn fibre_channel(value: &Value, at: &str, errors: &mut Vec<FieldError>) {
    let set = |list: &str| items(value, list).next().is_some();
    let (place, unit) = (format!("{at}.targetWWNs"), &value["lun"]);
    match (set("targetWWNs"), set("wwids")) {
        (false, false) => {
            errors.push(FieldError::required(place, "must specify either targetWWNs or wwids, but not both"));
        }
        (true, true) => {
            let why = "targetWWNs and wwids can not be specified simultaneously";
            invalid(errors, place, &value["targetWWNs"], why);
        }
        (true, false) if unit.is_null() => {
            let why = "lun is required if targetWWNs is specified";
            errors.push(FieldError::required(format!("{at}.lun"), why));
        }
        _ => {}
    }
    if set("targetWWNs") && unit.as_i64().is_some_and(|unit| !(0..=255).contains(&unit)) {
        invalid(errors, format!("{at}.lun"), unit, "must be between 0 and 255, inclusive");
    }
}

pub(super) fn flocker(value: &Value, at: &str, errors: &mut Vec<FieldError>) {
    let set = |member: &str| !text(value, member).is_empty();
    match (set("datasetName"), set("datasetUUID")) {
        (false, false) => {
            errors.push(FieldError::required(at, "one of datasetName and datasetUUID is required"));
        }
        (true, true) => {
            let why = "datasetName and datasetUUID can not be specified simultaneously";
            errors.push(FieldError::invalid(at, "\"resource\"", why));
        }
        _ => {}
    }
}

/// The secret is another object, and its reference names both.
pub(super) fn storage_os(value: &Value, at: &str, errors: &mut Vec<FieldError>) {
    let secret = &value["secretRef"];
    for member in ["name", "namespace"] {
        if is_set(secret) && text(secret, member).is_empty() {
            errors.push(FieldError::required(format!("{at}.secretRef.{member}"), ""));
        }
    }
}

/// Managed disks are named by a path, others by an address.
pub(super) fn azure_disk(value: &Value, at: &str, errors: &mut Vec<FieldError>) {
    let address = text(value, "diskURI");
    let (fits, form) = match text(value, "kind") {
        "Managed" => (
            address.starts_with("/subscriptions"),
            "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}",
        ),
        _ => (
            address.starts_with("https://"),
            "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd",
        ),
    };
    if !fits {
        let (place, supported) = (format!("{at}.diskURI"), [format!("{form:?}")]);
        errors.push(FieldError::not_supported(place, format!("{address:?}"), &supported));
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
