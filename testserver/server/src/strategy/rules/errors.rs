//! Collects the errors of a kind, with their paths.

use serde_json::Value;

use crate::schema::FieldError;

/// The errors so far.
#[derive(Default)]
pub(super) struct Errors(pub(super) Vec<FieldError>);

impl Errors {
    pub(super) fn add(&mut self, error: FieldError) {
        self.0.push(error);
    }

    pub(super) fn required(&mut self, field: String, detail: &str) {
        self.add(FieldError::required(field, detail));
    }

    /// Adds the error of a name, if there is one.
    pub(super) fn text(&mut self, field: String, text: &str, problem: Option<String>) {
        if let Some(problem) = problem {
            self.add(FieldError::invalid(field, format!("{text:?}"), &problem));
        }
    }

    /// Refuses negative counts.
    pub(super) fn count(&mut self, field: &str, value: &Value) {
        if let Some(number) = value.as_i64().filter(|number| *number < 0) {
            self.add(FieldError::invalid(field, number, "must be greater than or equal to 0"));
        }
    }

    /// Refuses invalid ports.
    pub(super) fn port(&mut self, field: String, value: &Value) {
        if let Some(number) = value.as_i64().filter(|number| !(1..=65_535).contains(number)) {
            self.add(FieldError::invalid(field, number, "must be between 1 and 65535, inclusive"));
        }
    }
}
