//! A default must itself be a value that the schema allows.

use serde_json::Value;

use crate::schema::FieldError;
use crate::schema::{cel, parse, prune, validate};

pub(super) fn check(errors: &mut Vec<FieldError>, at: &str, doc: &Value, value: &Value, resource: bool) {
    let at = format!("{at}.default");
    let extent = if resource { parse::Extent::Resource } else { parse::Extent::Part };
    let field = parse::field(doc, extent);
    let mut pruned = value.clone();
    if !prune::value(&field, &mut pruned).is_empty() {
        errors.push(FieldError::invalid(&at, value, "must not have unknown fields"));
    }
    let mut unplaced = true;
    let mut wrong = validate::value(&field, &pruned);
    if wrong.is_empty() {
        // Of rules, what has no path is about the default as a whole.
        unplaced = false;
        wrong = cel::check_place(&field, &pruned, None);
    }
    for error in wrong {
        let field = match error.field.as_str() {
            "" => at.clone(),
            "<nil>" if unplaced => error.field.clone(),
            "<nil>" => at.clone(),
            below if below.starts_with('[') => format!("{at}{below}"),
            below => format!("{at}.{below}"),
        };
        errors.push(FieldError { field, ..error });
    }
}
