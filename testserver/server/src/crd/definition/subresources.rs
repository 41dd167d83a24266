//! The paths of the scale subresource.

use serde_json::Value;

use super::columns::NOT_A_PATH;
use crate::schema::ErrorList;

pub(super) fn validate(place: &str, subresources: &Value, errors: &mut ErrorList) {
    let scale = &subresources["scale"];
    if !scale.is_object() {
        return;
    }
    let rows: [(&str, bool, &[&str], &str); 3] = [
        ("specReplicasPath", true, &[".spec."], "should be a json path under .spec"),
        ("statusReplicasPath", true, &[".status."], "should be a json path under .status"),
        (
            "labelSelectorPath",
            false,
            &[".spec.", ".status."],
            "should be a json path under either .spec or .status",
        ),
    ];
    for (name, required, parents, wrong) in rows {
        let (at, path) = (format!("{place}.scale.{name}"), scale[name].as_str().unwrap_or_default());
        if path.is_empty() {
            if required {
                errors.required(at, "");
            }
        } else if !path.starts_with('.') {
            errors.invalid(at, format!("{path:?}"), NOT_A_PATH);
        } else if !parents.iter().any(|parent| path.starts_with(parent)) {
            errors.invalid(at, format!("{path:?}"), wrong);
        }
    }
}
