//! The error of one field, as in the causes of a `Status`.

use std::fmt;

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

    /// The value is invalid; `shown` is its printed form.
    pub(crate) fn invalid(field: impl Into<String>, shown: impl fmt::Display, detail: &str) -> Self {
        Self::new(field, "FieldValueInvalid", with_detail(&format!("Invalid value: {shown}"), detail))
    }

    /// An error that the genuine server gives no field.
    pub(crate) fn without_field(why: &str) -> Self {
        Self::invalid("<nil>", "\"\"", why)
    }

    /// The value, whose printed form is `shown`, is not one of `supported`.
    pub(crate) fn not_supported(
        field: impl Into<String>,
        shown: impl fmt::Display,
        supported: &[impl AsRef<str>],
    ) -> Self {
        let supported: Vec<String> = supported.iter().map(|value| format!("{:?}", value.as_ref())).collect();
        let message = format!("Unsupported value: {shown}: supported values: {}", supported.join(", "));
        Self::new(field, "FieldValueNotSupported", message)
    }

    /// The value is a duplicate.
    pub(crate) fn duplicate(field: impl Into<String>, shown: impl fmt::Display) -> Self {
        Self::new(field, "FieldValueDuplicate", format!("Duplicate value: {shown}"))
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

/// Rule violations.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct RuleViolations {
    pub(crate) errors: Vec<FieldError>,
    /// Violations in unchanged fields, accepted under earlier rules: the client gets warnings.
    pub(crate) ratcheted: Vec<FieldError>,
}
