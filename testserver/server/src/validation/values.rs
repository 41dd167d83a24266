//! Reads members of objects, and the problems that several rules look for.

use serde_json::Value;

use crate::{object::quantity::Quantity, schema::ErrorList};

pub(super) fn text<'v>(value: &'v Value, member: &str) -> &'v str {
    value[member].as_str().unwrap_or_default()
}

pub(super) fn is_set(value: &Value) -> bool {
    !value.is_null()
}

pub(super) fn items<'v>(value: &'v Value, list: &str) -> impl Iterator<Item = (usize, &'v Value)> {
    value[list].as_array().into_iter().flatten().enumerate()
}

pub(super) fn amounts<'v>(value: &'v Value, list: &str) -> impl Iterator<Item = (&'v String, Quantity)> {
    let amounts = value[list].as_object().into_iter().flatten();
    amounts.filter_map(|(name, amount)| Some((name, Quantity::read(amount)?)))
}

/// Why a path may lead out of its folder.
pub(super) fn outside(path: &str) -> Option<&'static str> {
    match path {
        _ if path.starts_with('/') => Some("must be a relative path"),
        _ if path.split('/').any(|part| part == "..") => Some("must not contain '..'"),
        _ => None,
    }
}

/// The path of a file in a folder.
pub(super) fn file_path(value: &Value, member: &str, at: &str, errors: &mut ErrorList) {
    let place = format!("{at}.{member}");
    match text(value, member) {
        "" => errors.required(place, ""),
        path => {
            if let Some(why) = outside(path) {
                errors.invalid(place, &value[member], why);
            }
        }
    }
}

/// The name of an object that a volume refers to.
pub(super) fn named(reference: &Value, at: &str, errors: &mut ErrorList) {
    if is_set(reference) && text(reference, "name").is_empty() {
        errors.required(format!("{at}.name"), "");
    }
}
