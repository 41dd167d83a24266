//! Adds the errors that many rules report.

use std::fmt;

use serde_json::Value;

use crate::schema::{ErrorList, FieldError};

impl ErrorList {
    /// Adds the problem of a value, whose printed form is given, if there is one.
    pub(super) fn problem(
        &mut self,
        field: impl Into<String>,
        printed: impl fmt::Display,
        problem: Option<impl AsRef<str>>,
    ) {
        self.extend(problem.map(|problem| FieldError::invalid(field, printed, problem.as_ref())));
    }

    /// Adds the problem of a text, if there is one.
    pub(super) fn text(&mut self, field: impl Into<String>, text: &str, problem: Option<String>) {
        self.problem(field, format_args!("{text:?}"), problem);
    }

    /// Refuses a text that is not one of these.
    pub(super) fn one_of(&mut self, field: impl Into<String>, text: &str, supported: &[&str]) {
        if !supported.contains(&text) {
            self.not_supported(field, format!("{text:?}"), supported);
        }
    }

    /// Refuses a text that was there before.
    pub(super) fn repeated(&mut self, field: impl Into<String>, text: &str) {
        self.duplicate(field, format!("{text:?}"));
    }

    /// Refuses negative counts.
    pub(super) fn count(&mut self, field: impl Into<String>, value: &Value) {
        if let Some(number) = value.as_i64().filter(|number| *number < 0) {
            self.invalid(field, number, "must be greater than or equal to 0");
        }
    }

    /// Refuses invalid ports.
    pub(super) fn port(&mut self, field: impl Into<String>, value: &Value) {
        if let Some(number) = value.as_i64().filter(|number| !(1..=65_535).contains(number)) {
            self.invalid(field, number, "must be between 1 and 65535, inclusive");
        }
    }
}
