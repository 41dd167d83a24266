//! Unknown and duplicate fields: errors under strict validation, else warnings.

use std::collections::HashSet;

use http::Method;

use super::{body, kinds::kind_of};
use crate::{
    call::Call,
    patch,
    route::{FieldValidation, WriteOptions},
    schema::{self, yaml},
};

/// How strictly the fields of a body are checked. A body in protobuf has no duplicates, and its unknown fields are skipped.
pub(crate) fn read_body(call: &Call, options: &mut WriteOptions) {
    read_body_as(call, options, kind_of(&call.endpoint).has_go_type());
}

/// The same for a body that has a Go type or not.
pub(crate) fn read_body_as(call: &Call, options: &mut WriteOptions, has_go_type: bool) {
    options.duplicates = duplicates(call, options.validation);
    let media = body::media_type(&call.content_type);
    let json = matches!(media, "" | "application/json");
    let decoded_into_type = has_go_type && call.method != Method::PATCH;
    options.text = (json && decoded_into_type).then(|| call.body.clone());
    if media == body::PROTOBUF {
        options.validation = FieldValidation::Ignore;
    }
}

/// Reports of duplicate fields of a body, of which the last one is used.
pub(crate) fn duplicates(call: &Call, validation: FieldValidation) -> Vec<String> {
    if validation == FieldValidation::Ignore {
        return Vec::new();
    }
    match body::media_type(&call.content_type) {
        "application/yaml" | "application/apply-patch+yaml" => {
            let text = std::str::from_utf8(&call.body);
            let repeated = text.map(yaml::repeated_keys).unwrap_or_default();
            // The error of go-yaml is one of the reports.
            let strict = validation == FieldValidation::Strict && !repeated.is_empty();
            if strict {
                vec![format!("yaml: unmarshal errors:\n  {}", repeated.join("\n  "))]
            } else {
                repeated
            }
        }
        ""
        | "application/json"
        | "application/merge-patch+json"
        | "application/strategic-merge-patch+json" => schema::problems_in_order(&call.body, &[]),
        "application/json-patch+json" => {
            let unknown = body::json(&call.body).map(|patch| patch::json::unknown_fields(&patch));
            let problems = schema::problems_in_order(&call.body, &unknown.unwrap_or_default());
            problems.into_iter().map(|problem| format!("json patch {problem}")).collect()
        }
        _ => Vec::new(),
    }
}

/// What is wrong with the fields of an object, of which those at the paths `unknown` are unknown.
pub(crate) fn problems(options: &WriteOptions, unknown: Vec<String>) -> Vec<String> {
    if let Some(text) = options.text.as_ref().filter(|_| !unknown.is_empty()) {
        return schema::problems_in_order(text, &unknown);
    }
    let unknown = unknown.iter().map(|path| format!("unknown field {path:?}"));
    options.duplicates.iter().cloned().chain(unknown).collect()
}

/// Warnings without those that were given before.
pub(crate) fn once(warnings: Vec<String>) -> Vec<String> {
    let mut seen = HashSet::new();
    warnings.into_iter().filter(|warning| seen.insert(warning.clone())).collect()
}
