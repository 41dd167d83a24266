//! A validation rule of a schema.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A CEL expression that every object must satisfy, and the error for an object that does not.
///
/// `self` is the value whose schema holds the rule. A rule that uses `oldSelf` is evaluated on updates only (unless
/// [`optional_old_self`](Self::optional_old_self) is set). Serializes to an entry of `x-kubernetes-validations`.
///
/// ```
/// use kube_core::cel::{Message, Reason, Rule};
///
/// let rule = Rule::new("self.min <= self.max")
///     .message(Message::Expression("'min is above max: ' + string(self.min)".into()))
///     .reason(Reason::FieldValueInvalid)
///     .field_path(".min");
/// assert_eq!(
///     serde_json::to_value(&rule).unwrap(),
///     serde_json::json!({
///         "rule": "self.min <= self.max",
///         "messageExpression": "'min is above max: ' + string(self.min)",
///         "reason": "FieldValueInvalid",
///         "fieldPath": ".min",
///     }),
/// );
/// ```
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Rule {
    /// The CEL expression; true means valid.
    pub rule: String,
    /// The error message when the expression is false; without one the server quotes the expression.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub message: Option<Message>,
    /// The machine-readable reason in the error; the server's default is [`Reason::FieldValueInvalid`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// The field that the error names, as a path relative to `self` (`.spec.name`, `.map['key']`); by default `self`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field_path: Option<String>,
    /// Whether a rule with `oldSelf` is also evaluated on creation, where `oldSelf` is an empty optional.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optional_old_self: Option<bool>,
}

impl Rule {
    /// A rule with this expression, without message, reason or path.
    pub fn new(rule: impl Into<String>) -> Self {
        Self { rule: rule.into(), ..Self::default() }
    }

    /// Sets the error message when the expression is false: a string, or a [`Message`].
    #[must_use]
    pub fn message(mut self, message: impl Into<Message>) -> Self {
        self.message = Some(message.into());
        self
    }

    /// Sets the machine-readable reason of the error.
    #[must_use]
    pub fn reason(mut self, reason: impl Into<Reason>) -> Self {
        self.reason = Some(reason.into());
        self
    }

    /// Sets the field that the error names, as a path relative to `self`.
    #[must_use]
    pub fn field_path(mut self, field_path: impl Into<String>) -> Self {
        self.field_path = Some(field_path.into());
        self
    }

    /// Sets whether a rule that uses `oldSelf` is evaluated on creation too; `oldSelf` is then an optional value.
    ///
    /// ```
    /// let rule = kube_core::Rule::new("!oldSelf.hasValue() || self >= oldSelf.value()").optional_old_self(true);
    /// assert_eq!(serde_json::to_value(rule).unwrap()["optionalOldSelf"], true);
    /// ```
    #[must_use]
    pub fn optional_old_self(mut self, optional: bool) -> Self {
        self.optional_old_self = Some(optional);
        self
    }
}

impl From<&str> for Rule {
    fn from(rule: &str) -> Self {
        Self::new(rule)
    }
}

/// The expression and its message.
impl From<(&str, &str)> for Rule {
    fn from((rule, message): (&str, &str)) -> Self {
        Self::new(rule).message(message)
    }
}

/// The error message of a violated rule: `message` or `messageExpression` on the wire.
///
/// ```
/// use kube_core::{Message, Rule};
///
/// let rule = Rule::new("self.min <= self.max").message(Message::Expression("'min is ' + string(self.min)".into()));
/// assert_eq!(serde_json::to_value(rule).unwrap()["messageExpression"], "'min is ' + string(self.min)");
/// assert_eq!(Message::from("min is too large"), Message::Message("min is too large".into()));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Message {
    /// This text.
    Message(String),
    /// The result of this CEL expression of type string; it sees the same variables as the rule.
    #[serde(rename = "messageExpression")]
    Expression(String),
}

/// A fixed text.
impl From<&str> for Message {
    fn from(message: &str) -> Self {
        Self::Message(message.into())
    }
}

/// The machine-readable reason of a violated rule, as in the causes of the server's [`Status`](crate::Status).
///
/// ```
/// use kube_core::cel::Reason;
///
/// assert_eq!("FieldValueForbidden".parse::<Reason>().unwrap(), Reason::FieldValueForbidden);
/// assert!("Forbidden".parse::<Reason>().is_err());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub enum Reason {
    /// The value does not follow the rules of its field.
    #[default]
    FieldValueInvalid,
    /// The value is not allowed in this state of the object.
    FieldValueForbidden,
    /// The value is missing.
    FieldValueRequired,
    /// The value must be unique and is not.
    FieldValueDuplicate,
}

impl FromStr for Reason {
    type Err = serde_json::Error;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        serde_json::from_value(name.into())
    }
}

/// The reason with this name; any other text becomes [`Reason::FieldValueInvalid`], the server's default. Use
/// [`str::parse`] to reject unknown names.
impl From<&str> for Reason {
    fn from(name: &str) -> Self {
        name.parse().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn wire_form_has_only_what_is_set_and_is_read_back() {
        let rules = [
            (Rule::new("a"), json!({ "rule": "a" })),
            (Rule::from("a"), json!({ "rule": "a" })),
            (Rule::from(("a", "b")), json!({ "rule": "a", "message": "b" })),
            (
                Rule::new("a").message(Message::Expression("'b'".into())).optional_old_self(true),
                json!({ "rule": "a", "messageExpression": "'b'", "optionalOldSelf": true }),
            ),
            (
                Rule::new("a").message("b").reason(Reason::FieldValueDuplicate).field_path(".c"),
                json!({ "rule": "a", "message": "b", "reason": "FieldValueDuplicate", "fieldPath": ".c" }),
            ),
        ];
        for (rule, wire) in rules {
            assert_eq!(serde_json::to_value(&rule).unwrap(), wire);
            let again: Rule = serde_json::from_value(wire.clone()).unwrap();
            assert_eq!(serde_json::to_value(again).unwrap(), wire);
        }
    }

    #[test]
    fn reasons_are_parsed_from_their_names() {
        assert_eq!(Reason::from("FieldValueRequired"), Reason::FieldValueRequired);
        assert_eq!(Reason::from("nonsense"), Reason::FieldValueInvalid);
        let error = "nonsense".parse::<Reason>().unwrap_err().to_string();
        assert!(error.contains("nonsense") && error.contains("FieldValueForbidden"), "{error}");
    }
}
