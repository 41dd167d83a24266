//! Reads members of objects.

use serde_json::Value;

use crate::{object::quantity::Quantity, schema::FieldError};

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

pub(super) fn invalid(errors: &mut Vec<FieldError>, at: String, value: &Value, why: &str) {
    errors.push(FieldError::invalid(at, value, why));
}
