//! `selectableFields`: paths of scalar fields of the schema.

use serde_json::Value;

use super::versions::{common, list};
use crate::schema::ErrorList;

/// The largest number of selectable fields of a version.
const MAX: usize = 8;
const NOT_SCALAR: &str = "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.";

pub(super) fn validate(spec: &Value, errors: &mut ErrorList) {
    let versions = list(&spec["versions"]);
    let schema = |version: &Value| version["schema"]["openAPIV3Schema"].clone();
    match (common(spec, "selectableFields"), common(spec, "schema")) {
        (Some(fields), Some(shared)) => {
            paths("spec.selectableFields", fields, &shared["openAPIV3Schema"], errors);
        }
        // The genuine server moves what all versions share to the top, and refuses fields that are apart from their schema.
        (Some(fields), None) if !list(fields).is_empty() => {
            let why = "may only be set when validations.schema is included";
            errors.invalid("spec.selectableFields", "\"\"", why);
        }
        (Some(_), None) => {}
        (None, shared) => {
            for (i, version) in versions.iter().enumerate() {
                let at = format!("spec.versions[{i}].selectableFields");
                let fields = &version["selectableFields"];
                if shared.is_none() {
                    paths(&at, fields, &schema(version), errors);
                } else if !list(fields).is_empty() {
                    let why = "may only be set when `version.schema.openAPIV3Schema` is not included";
                    errors.invalid(at, "\"\"", why);
                }
            }
        }
    }
}

fn paths(at: &str, fields: &Value, schema: &Value, errors: &mut ErrorList) {
    let fields = list(fields);
    errors.at_most(MAX, at, fields.len());
    for (i, field) in fields.iter().enumerate() {
        let path = field["jsonPath"].as_str().unwrap_or_default();
        let at = format!("{at}[{i}].jsonPath");
        if path.is_empty() {
            errors.required(at, "");
            continue;
        }
        let printed = format!("{path:?}");
        match type_of(path, schema) {
            Err(why) => errors.invalid(&at, &printed, &format!("is an invalid path: {why}")),
            Ok("string" | "boolean" | "integer") => {}
            Ok(_) => errors.invalid(&at, &printed, NOT_SCALAR),
        }
        if fields[..i].iter().any(|other| other["jsonPath"] == field["jsonPath"]) {
            errors.duplicate(at, printed);
        }
    }
}

/// The type of the field at a path.
fn type_of<'s>(path: &str, schema: &'s Value) -> Result<&'s str, String> {
    let (mut doc, mut rest, mut top) = (schema, path, true);
    while !rest.is_empty() {
        if rest.starts_with('[') {
            return Err("array notation is not allowed".into());
        }
        let Some(after) = rest.strip_prefix('.') else {
            let token = rest.split(['.', '[']).next().unwrap_or(rest);
            return Err(format!("expected [ or . but got: {token}"));
        };
        if after.is_empty() {
            return Err("unexpected end of JSON path".into());
        }
        let (name, following) = after.split_at(after.find(['.', '[']).unwrap_or(after.len()));
        let own = !top || !matches!(name, "metadata" | "apiVersion" | "kind");
        let member = doc["properties"].get(name).filter(|_| own);
        let member = member.or_else(|| doc.get("additionalProperties").filter(|values| values.is_object()));
        doc = member.ok_or("does not refer to a valid field")?;
        (rest, top) = (following, false);
    }
    Ok(doc["type"].as_str().unwrap_or_default())
}
