//! Claims of volumes, and their templates in pods.

use serde_json::Value;

use super::{
    values::{invalid, is_set, labels, text},
    volumes,
};
use crate::{object::names, schema::FieldError};

pub(super) fn spec(value: &Value, at: &str, errors: &mut Vec<FieldError>) {
    volumes::classes(value, at, errors);
    let modes = value["accessModes"].as_array().map_or(&[][..], Vec::as_slice);
    if modes.len() > 1 && modes.iter().any(|mode| mode == "ReadWriteOncePod") {
        let why = "may not use ReadWriteOncePod with other access modes";
        errors.push(FieldError::forbidden(format!("{at}.accessModes"), why));
    }
    for member in ["dataSource", "dataSourceRef"] {
        source(&value[member], &format!("{at}.{member}"), errors);
    }
    let (source, reference) = (&value["dataSource"], &value["dataSourceRef"]);
    if is_set(source) && is_set(reference) {
        let same =
            ["apiGroup", "kind", "name"].iter().all(|part| text(source, part) == text(reference, part));
        if !text(reference, "namespace").is_empty() {
            errors.push(FieldError::invalid(
                at,
                "{}",
                "may not be specified when dataSourceRef.namespace is specified",
            ));
        } else if !same {
            errors.push(FieldError::invalid(at, "{}", "must match dataSourceRef"));
        }
    }
}

/// What fills a volume: another claim, or an object of another group.
fn source(value: &Value, at: &str, errors: &mut Vec<FieldError>) {
    let (group, kind) = (text(value, "apiGroup"), text(value, "kind"));
    if is_set(value) && group.is_empty() && kind != "PersistentVolumeClaim" {
        let why = "must be 'PersistentVolumeClaim' when referencing the default apiGroup";
        errors.push(FieldError::invalid(at, format!("{kind:?}"), why));
    }
    // The type of references has a rule for theirs.
    let local = Some(group).filter(|group| !group.is_empty() && at.ends_with("dataSource"));
    if let Some(why) = local.and_then(names::subdomain) {
        invalid(errors, format!("{at}.apiGroup"), &value["apiGroup"], &why);
    }
}

/// The metadata of a template: its pod owns the claim and names it.
const OF_POD: [(&str, &str); 13] = [
    ("name", "name"),
    ("generateName", "generateName"),
    ("namespace", "namespace"),
    ("selfLink", "selfLink"),
    ("uid", "uID"),
    ("resourceVersion", "resourceVersion"),
    ("generation", "generation"),
    ("creationTimestamp", "creationTimestamp"),
    ("deletionTimestamp", "deletionTimestamp"),
    ("deletionGracePeriodSeconds", "deletionGracePeriodSeconds"),
    ("ownerReferences", "ownerReferences"),
    ("finalizers", "finalizers"),
    ("managedFields", "managedFields"),
];

pub(super) fn template(value: &Value, at: &str, errors: &mut Vec<FieldError>) {
    let metadata = &value["metadata"];
    for (_, shown) in OF_POD.iter().filter(|(field, _)| is_set(&metadata[*field])) {
        errors.push(FieldError::forbidden(format!("{at}.metadata.{shown}"), "cannot be set"));
    }
    labels(metadata, &format!("{at}.metadata"), errors);
}
