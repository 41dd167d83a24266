//! Templates of claims in pods.

use serde_json::Value;

use super::values::is_set;
use crate::{schema::ErrorList, validation::metadata::labels};

/// The metadata that a template cannot set, as its claims have their own, and how errors name it.
const OF_CLAIMS: [(&str, &str); 12] = [
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
];

/// A template of claims for volumes.
pub(super) fn template(value: &Value, at: &str, errors: &mut ErrorList) {
    let (metadata, at) = (&value["metadata"], format!("{at}.metadata"));
    own_metadata(metadata, &at, errors);
    if is_set(&metadata["managedFields"]) {
        errors.forbidden(format!("{at}.managedFields"), "cannot be set");
    }
    labels(metadata, &at, errors);
}

/// A template of claims for devices.
pub(super) fn device_template(value: &Value, at: &str, errors: &mut ErrorList) {
    let (metadata, at) = (&value["metadata"], format!("{at}.metadata"));
    labels(metadata, &at, errors);
    own_metadata(metadata, &at, errors);
}

fn own_metadata(metadata: &Value, at: &str, errors: &mut ErrorList) {
    for (_, name) in OF_CLAIMS.iter().filter(|(field, _)| is_set(&metadata[*field])) {
        errors.forbidden(format!("{at}.{name}"), "cannot be set");
    }
}
