//! `additionalPrinterColumns`.

use serde_json::Value;

use super::versions::list;
use crate::schema::ErrorList;

const TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
const FORMATS: [&str; 8] = ["byte", "date", "date-time", "double", "float", "int32", "int64", "password"];
pub(super) const NOT_A_PATH: &str = "must be a simple json path starting with .";

pub(super) fn validate(place: &str, columns: &Value, errors: &mut ErrorList) {
    for (i, column) in list(columns).iter().enumerate() {
        let at = |name: &str| format!("{place}[{i}].{name}");
        let text = |name: &str| column[name].as_str().unwrap_or_default();
        if text("name").is_empty() {
            errors.required(at("name"), "");
        }
        let types = format!("must be one of {}", TYPES.join(","));
        match text("type") {
            "" => errors.required(at("type"), &types),
            ty if TYPES.contains(&ty) => {}
            other => errors.invalid(at("type"), format!("{other:?}"), &types),
        }
        let format = text("format");
        if !format.is_empty() && !FORMATS.contains(&format) {
            let formats = format!("must be one of {}", FORMATS.join(","));
            errors.invalid(at("format"), format!("{format:?}"), &formats);
        }
        match text("jsonPath") {
            "" => errors.required(at("JSONPath"), ""),
            path if path.starts_with('.') => {}
            path => errors.invalid(at("JSONPath"), format!("{path:?}"), NOT_A_PATH),
        }
    }
}
