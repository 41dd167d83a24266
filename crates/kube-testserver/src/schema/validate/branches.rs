//! `allOf`, `anyOf`, `oneOf`, `not`.

use serde_json::Value;

use super::walk::Walk;
use crate::schema::FieldError;
use crate::schema::model::{Field, ValueValidation};
use crate::schema::path::Path;

pub(super) fn check(walk: &mut Walk<'_>, rules: &ValueValidation, value: &Value, path: &Path<'_>) {
    any_of(walk, &rules.any_of, value, path);
    one_of(walk, &rules.one_of, value, path);
    all_of(walk, &rules.all_of, value, path);
    if let Some(field) = &rules.not
        && failures(walk, field, value, path).is_empty()
    {
        walk.errors
            .push(FieldError::without_field(&format!("\"{path}\" must not validate the schema (not)")));
    }
}

fn any_of(walk: &mut Walk<'_>, fields: &[Field], value: &Value, path: &Path<'_>) {
    let tried: Vec<_> = fields.iter().map(|field| failures(walk, field, value, path)).collect();
    if tried.is_empty() || tried.iter().any(Vec::is_empty) {
        return;
    }
    if !walk.built_in {
        walk.errors.push(FieldError::without_field(&format!(
            "\"{path}\" must validate at least one schema (anyOf)"
        )));
    }
    walk.errors.extend(nearest(tried));
}

fn one_of(walk: &mut Walk<'_>, fields: &[Field], value: &Value, path: &Path<'_>) {
    let tried: Vec<_> = fields.iter().map(|field| failures(walk, field, value, path)).collect();
    let valid = tried.iter().filter(|errors| errors.is_empty()).count();
    let found = match valid {
        1 => return,
        _ if tried.is_empty() => return,
        0 => "Found none valid".to_owned(),
        n => format!("Found {n} valid alternatives"),
    };
    // In built-in kinds the alternatives are spellings of one type: the errors of the nearest one suffice.
    if !walk.built_in {
        let why = format!("\"{path}\" must validate one and only one schema (oneOf). {found}");
        walk.errors.push(FieldError::without_field(&why));
    }
    if valid == 0 {
        walk.errors.extend(nearest(tried));
    }
}

fn all_of(walk: &mut Walk<'_>, fields: &[Field], value: &Value, path: &Path<'_>) {
    let before = walk.errors.len();
    for field in fields {
        walk.value(field, value, path);
    }
    if walk.errors.len() > before {
        walk.errors
            .push(FieldError::without_field(&format!("\"{path}\" must validate all the schemas (allOf)")));
    }
}

fn failures(walk: &Walk<'_>, field: &Field, value: &Value, path: &Path<'_>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    walk.with_errors(&mut errors).value(field, value, path);
    errors
}

/// The errors of the alternative with the fewest.
fn nearest(tried: Vec<Vec<FieldError>>) -> Vec<FieldError> {
    tried.into_iter().min_by_key(Vec::len).unwrap_or_default()
}
