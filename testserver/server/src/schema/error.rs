//! The error of one field, as in the causes of a `Status`, and the list in which rules collect them.

use std::{
    fmt,
    ops::{Deref, DerefMut},
};

/// The error of one field, as in the causes of a `Status`.
///
/// Displayed as `field: message`, as in the message of a `Status`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FieldError {
    /// Path of the field, such as `spec.ports[0].name`.
    pub(crate) field: String,
    /// Machine-readable reason, such as `FieldValueInvalid`.
    pub(crate) reason: &'static str,
    /// The message without the path.
    pub(crate) message: String,
}

impl FieldError {
    pub(crate) fn new(field: impl Into<String>, reason: &'static str, message: impl Into<String>) -> Self {
        Self { field: field.into(), reason, message: message.into() }
    }

    /// The field is required; `detail` says for what, and may be empty.
    pub(crate) fn required(field: impl Into<String>, detail: &str) -> Self {
        Self::new(field, "FieldValueRequired", with_detail("Required value", detail))
    }

    /// The field is forbidden.
    pub(crate) fn forbidden(field: impl Into<String>, detail: &str) -> Self {
        Self::new(field, "FieldValueForbidden", with_detail("Forbidden", detail))
    }

    /// The value is invalid; `bad_value` is its printed form.
    pub(crate) fn invalid(field: impl Into<String>, bad_value: impl fmt::Display, detail: &str) -> Self {
        Self::new(field, "FieldValueInvalid", with_detail(&format!("Invalid value: {bad_value}"), detail))
    }

    /// An error that the genuine server gives no field.
    pub(crate) fn without_field(why: &str) -> Self {
        Self::invalid("<nil>", "\"\"", why)
    }

    /// The value, whose printed form is `bad_value`, is not one of `supported`.
    pub(crate) fn not_supported(
        field: impl Into<String>,
        bad_value: impl fmt::Display,
        supported: &[impl AsRef<str>],
    ) -> Self {
        let supported: Vec<String> = supported.iter().map(|value| format!("{:?}", value.as_ref())).collect();
        let message = format!("Unsupported value: {bad_value}: supported values: {}", supported.join(", "));
        Self::new(field, "FieldValueNotSupported", message)
    }

    /// The value is a duplicate.
    pub(crate) fn duplicate(field: impl Into<String>, bad_value: impl fmt::Display) -> Self {
        Self::new(field, "FieldValueDuplicate", format!("Duplicate value: {bad_value}"))
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.field.is_empty() {
            return f.write_str(&self.message);
        }
        write!(f, "{}: {}", self.field, self.message)
    }
}

fn with_detail(text: &str, detail: &str) -> String {
    if detail.is_empty() { text.to_owned() } else { format!("{text}: {detail}") }
}

/// The errors that rules have found so far. A method adds the error of its name.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ErrorList(Vec<FieldError>);

impl ErrorList {
    pub(crate) fn required(&mut self, field: impl Into<String>, detail: &str) {
        self.push(FieldError::required(field, detail));
    }

    pub(crate) fn forbidden(&mut self, field: impl Into<String>, detail: &str) {
        self.push(FieldError::forbidden(field, detail));
    }

    pub(crate) fn invalid(&mut self, field: impl Into<String>, bad_value: impl fmt::Display, detail: &str) {
        self.push(FieldError::invalid(field, bad_value, detail));
    }

    pub(crate) fn not_supported(
        &mut self,
        field: impl Into<String>,
        bad_value: impl fmt::Display,
        supported: &[impl AsRef<str>],
    ) {
        self.push(FieldError::not_supported(field, bad_value, supported));
    }

    pub(crate) fn duplicate(&mut self, field: impl Into<String>, bad_value: impl fmt::Display) {
        self.push(FieldError::duplicate(field, bad_value));
    }

    pub(crate) fn too_long(&mut self, field: impl Into<String>, max: usize) {
        let message = format!("Too long: may not be more than {max} bytes");
        self.push(FieldError::new(field, "FieldValueTooLong", message));
    }

    /// Refuses lists of more than `max` items.
    pub(crate) fn at_most(&mut self, max: usize, field: impl Into<String>, count: usize) {
        if count > max {
            let message = format!("Too many: {count}: must have at most {max} items");
            self.push(FieldError::new(field, "FieldValueTooMany", message));
        }
    }

    pub(crate) fn without_field(&mut self, why: &str) {
        self.push(FieldError::without_field(why));
    }

    pub(crate) fn not_found(&mut self, field: impl Into<String>, bad_value: impl fmt::Display) {
        self.push(FieldError::new(field, "FieldValueNotFound", format!("Not found: {bad_value}")));
    }
}

impl Deref for ErrorList {
    type Target = Vec<FieldError>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl DerefMut for ErrorList {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

impl IntoIterator for ErrorList {
    type Item = FieldError;
    type IntoIter = std::vec::IntoIter<FieldError>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl FromIterator<FieldError> for ErrorList {
    fn from_iter<I: IntoIterator<Item = FieldError>>(errors: I) -> Self {
        Self(errors.into_iter().collect())
    }
}

/// Rule violations.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct RuleViolations {
    pub(crate) errors: ErrorList,
    /// Violations in unchanged fields, accepted under earlier rules: the client gets warnings.
    pub(crate) ratcheted: ErrorList,
}
