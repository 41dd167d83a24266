//! Adds the errors that many rules report.

use std::fmt;

use serde_json::Value;

use crate::schema::FieldError;

/// The errors so far.
pub(super) trait Errors {
    fn required(&mut self, field: impl Into<String>, detail: &str);

    /// Adds the problem of a value, whose printed form is given, if there is one.
    fn problem(
        &mut self,
        field: impl Into<String>,
        printed: impl fmt::Display,
        problem: Option<impl AsRef<str>>,
    );

    /// Adds the problem of a text, if there is one.
    fn text(&mut self, field: impl Into<String>, text: &str, problem: Option<String>);

    /// Refuses a text that is not one of these.
    fn one_of(&mut self, field: impl Into<String>, text: &str, supported: &[&str]);

    /// Refuses a text that was there before.
    fn repeated(&mut self, field: impl Into<String>, text: &str);

    /// Refuses negative counts.
    fn count(&mut self, field: impl Into<String>, value: &Value);

    /// Refuses invalid ports.
    fn port(&mut self, field: impl Into<String>, value: &Value);
}

impl Errors for Vec<FieldError> {
    fn required(&mut self, field: impl Into<String>, detail: &str) {
        self.push(FieldError::required(field, detail));
    }

    fn problem(
        &mut self,
        field: impl Into<String>,
        printed: impl fmt::Display,
        problem: Option<impl AsRef<str>>,
    ) {
        self.extend(problem.map(|problem| FieldError::invalid(field, printed, problem.as_ref())));
    }

    fn text(&mut self, field: impl Into<String>, text: &str, problem: Option<String>) {
        self.problem(field, format_args!("{text:?}"), problem);
    }

    fn one_of(&mut self, field: impl Into<String>, text: &str, supported: &[&str]) {
        if !supported.contains(&text) {
            self.push(FieldError::not_supported(field, format!("{text:?}"), supported));
        }
    }

    fn repeated(&mut self, field: impl Into<String>, text: &str) {
        self.push(FieldError::duplicate(field, format!("{text:?}")));
    }

    fn count(&mut self, field: impl Into<String>, value: &Value) {
        if let Some(number) = value.as_i64().filter(|number| *number < 0) {
            self.push(FieldError::invalid(field, number, "must be greater than or equal to 0"));
        }
    }

    fn port(&mut self, field: impl Into<String>, value: &Value) {
        if let Some(number) = value.as_i64().filter(|number| !(1..=65_535).contains(number)) {
            self.push(FieldError::invalid(field, number, "must be between 1 and 65535, inclusive"));
        }
    }
}
