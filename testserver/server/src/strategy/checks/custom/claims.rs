//! Templates of claims in pods.

use serde_json::Value;

use super::values::{is_set, labels};
use crate::schema::FieldError;

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
