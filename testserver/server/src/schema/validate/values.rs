//! Validation of single values.

use serde_json::{Number, Value};

use super::{format, numbers};
use crate::schema::{
    ErrorList, FieldError, golang,
    model::{Node, Range, Type, ValueValidation},
    path::Path,
};

/// Whether the format is a string format.
pub(super) fn has_string_format(node: &Node) -> bool {
    let format = node.rules.as_ref().and_then(|rules| rules.format.as_deref());
    format.is_some_and(|f| format::known(f).is_some())
}

pub(super) fn check(errors: &mut ErrorList, node: &Node, value: &Value, path: &Path<'_>) {
    let Some(rules) = &node.rules else { return };
    // A null is not supported even if it is listed.
    let supported = |allowed: &Value| !value.is_null() && numbers::equal(allowed, value);
    if !rules.allowed.is_empty() && !rules.allowed.iter().any(supported) {
        let supported: Vec<String> = rules.allowed.iter().map(word).collect();
        errors.not_supported(path.to_string(), numbers::shown(value), &supported);
    }
    match value {
        Value::Number(n) => {
            let text = numbers::shown(value);
            numbers::check(errors, node, rules, n, &text, path);
            overflow(errors, node, n, path);
        }
        Value::String(text) => {
            string(errors, rules, text, path);
            formatted(errors, node, text, path);
        }
        Value::Array(list) => {
            let count = list.len() as u64;
            size(errors, rules.items, count, "items", path);
        }
        Value::Object(map) => size(errors, rules.members, map.len() as u64, "properties", path),
        _ => {}
    }
    let absent = value.is_null() && node.nullable;
    if !value.is_string() && !absent && node.ty == Some(Type::String) && has_string_format(node) {
        format_error(errors, rules.format.as_deref().unwrap_or_default(), golang::type_name(value), path);
    }
}

/// Whether a number fits into its format.
fn overflow(errors: &mut ErrorList, node: &Node, n: &Number, path: &Path<'_>) {
    let format = node.rules.as_ref().and_then(|rules| rules.format.as_deref()).unwrap_or_default();
    let float = n.as_f64().unwrap_or_default();
    let (ty, fits) = match (node.ty, format) {
        (Some(Type::Integer), "int32") => {
            ("integer", float >= f64::from(i32::MIN) && float <= f64::from(i32::MAX))
        }
        (Some(Type::Integer), "int64") => ("integer", n.is_i64() || float.abs() < numbers::INT64),
        (Some(Type::Number), "float") => ("number", float.abs() <= f64::from(f32::MAX)),
        _ => return,
    };
    if fits && (ty == "number" || float.fract() == 0.0) {
        return;
    }
    let why = format!("Checked value must be of type {ty} with format {format} in {path}");
    errors.without_field(&why);
}

/// Reports the first of: too long, too short, pattern mismatch.
fn string(errors: &mut ErrorList, rules: &ValueValidation, text: &str, path: &Path<'_>) {
    let Range { min, max } = rules.length;
    let length = text.chars().count() as u64;
    let wrong = |what: String| {
        FieldError::invalid(path.to_string(), golang::quoted(text), &format!("{path} in body should {what}"))
    };
    if let Some(max) = max.filter(|max| length > *max) {
        let message = format!("Too long: may not be more than {max} bytes");
        errors.push(FieldError::new(path.to_string(), "FieldValueTooLong", message));
    } else if let Some(min) = min.filter(|min| length < *min) {
        errors.push(wrong(format!("be at least {min} chars long")));
    } else if let Some(pattern) = rules.pattern.as_ref().filter(|p| !p.regex.is_match(text)) {
        errors.push(wrong(format!("match '{}'", pattern.text)));
    }
}

fn formatted(errors: &mut ErrorList, node: &Node, text: &str, path: &Path<'_>) {
    let Some(name) = node.rules.as_ref().and_then(|rules| rules.format.as_deref()) else { return };
    if format::known(name).is_some_and(|check| !check(text)) {
        format_error(errors, name, text, path);
    }
}

fn format_error(errors: &mut ErrorList, format: &str, text: &str, path: &Path<'_>) {
    let message = format!("Invalid value: {text:?}: {path} in body must be of type {format}: {text:?}");
    errors.push(FieldError::new(path.to_string(), "FieldValueTypeInvalid", message));
}

fn size(errors: &mut ErrorList, range: Range, count: u64, what: &str, path: &Path<'_>) {
    if let Some(max) = range.max.filter(|max| count > *max) {
        let items = if max == 1 { "item" } else { "items" };
        let message = format!("Too many: {count}: must have at most {max} {items}");
        errors.push(FieldError::new(path.to_string(), "FieldValueTooMany", message));
    }
    if let Some(min) = range.min.filter(|min| count < *min) {
        let why = format!("{path} in body should have at least {min} {what}");
        errors.invalid(path.to_string(), count, &why);
    }
}

/// A value of an `enum`, as errors list it.
fn word(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => numbers::shown(other),
    }
}
