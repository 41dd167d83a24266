//! One rule of a schema.

use kube_cel::cel::Value as Cel;
use serde_json::Value;

use super::{Expression, Scope, program::COST_EXCEEDED};
use crate::schema::FieldError;

pub(super) const REASONS: [&str; 4] =
    ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];

/// A rule, compiled.
#[derive(Debug)]
pub(crate) struct ValidationRule {
    text: Box<str>,
    pub(super) expression: Expression,
    message: Option<Box<str>>,
    message_expression: Option<Expression>,
    reason: &'static str,
    /// `fieldPath`, appended to the path of the value.
    suffix: Box<str>,
    /// A transition rule: references `oldSelf`.
    pub(super) transition: bool,
    /// Also evaluated without an old value: `oldSelf` is then optional.
    pub(super) optional_old: bool,
}

/// The rules of a schema. Rules that do not compile were refused when the CRD was written.
pub(in crate::schema) fn rules_of(doc: &Value) -> Vec<ValidationRule> {
    let rules = doc.get("x-kubernetes-validations").and_then(Value::as_array);
    rules.into_iter().flatten().filter_map(|rule| ValidationRule::read(doc, rule)).collect()
}

impl ValidationRule {
    fn read(schema: &Value, doc: &Value) -> Option<Self> {
        let text = |name: &str| doc.get(name).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
        let rule = text("rule")?;
        let expression = Expression::compile(rule).ok()?;
        let named = |name: &str| REASONS.into_iter().find(|reason| *reason == name);
        Some(Self {
            text: rule.trim().into(),
            transition: expression.mentions("oldSelf"),
            expression,
            message: text("message").map(Into::into),
            message_expression: text("messageExpression").and_then(|text| Expression::compile(text).ok()),
            reason: text("reason").and_then(named).unwrap_or("FieldValueInvalid"),
            suffix: text("fieldPath")
                .map(|path| suffix(schema, &steps(path).unwrap_or_default()))
                .unwrap_or_default(),
            optional_old: doc.get("optionalOldSelf") == Some(&Value::Bool(true)),
        })
    }

    /// Evaluates the rule for the value at `path`.
    pub(super) fn violation(&self, scope: &Scope<'_>, value: &Value, path: &str) -> Option<FieldError> {
        match self.expression.run(scope) {
            Ok(Cel::Bool(true)) => None,
            Ok(_) => Some(self.broken(scope, value, path)),
            Err(why) if why == COST_EXCEEDED => {
                let why = format!(
                    "'{why}': no further validation rules will be run due to call cost exceeds limit for rule: {}",
                    self.text
                );
                let quoted_type = format!("{:?}", schema_type(value));
                Some(FieldError::invalid(shown_path(path), quoted_type, &why))
            }
            Err(why) => {
                let why = format!("{why} evaluating rule: {}", self.text);
                Some(FieldError::invalid(shown_path(path), format!("{:?}", schema_type(value)), &why))
            }
        }
    }

    fn broken(&self, scope: &Scope<'_>, value: &Value, path: &str) -> FieldError {
        let message = self.message(scope);
        let at = format!("{path}{}", self.suffix);
        let at = shown_path(at.strip_prefix('.').unwrap_or(&at));
        let scalar = (!value.is_object() && !value.is_array()).then(|| value.to_string());
        match (self.reason, scalar) {
            ("FieldValueRequired", _) => FieldError::required(at, &message),
            ("FieldValueForbidden", _) => FieldError::forbidden(at, &message),
            ("FieldValueDuplicate", Some(value)) => FieldError::duplicate(at, value),
            ("FieldValueDuplicate", None) => FieldError::new(at, "FieldValueDuplicate", "Duplicate value"),
            (_, Some(value)) => FieldError::invalid(at, value, &message),
            // Objects and lists are not printed.
            (reason, None) => FieldError::new(at, reason, format!("Invalid value: {message}")),
        }
    }

    /// The result of `messageExpression`, else `message`, else the rule.
    fn message(&self, scope: &Scope<'_>) -> String {
        let computed = self.message_expression.as_ref().and_then(|expression| match expression.run(scope) {
            Ok(Cel::String(text)) if !text.trim().is_empty() && !text.contains('\n') => {
                Some(text.trim().to_owned())
            }
            _ => None,
        });
        let provided = || self.message.as_deref().map(|text| text.trim().to_owned());
        computed.or_else(provided).unwrap_or_else(|| format!("failed rule: {}", self.text))
    }
}

/// The steps of a `fieldPath`: `.a['b'].c`. `None` when it is not one.
pub(super) fn steps(path: &str) -> Option<Vec<&str>> {
    let mut out = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        if let Some(key) = rest.strip_prefix("['") {
            let (key, after) = key.split_once("']")?;
            out.push(key);
            rest = after;
        } else {
            let name = rest.strip_prefix('.')?;
            let end = name.find(['.', '[']).unwrap_or(name.len());
            if end == 0 {
                return None;
            }
            out.push(&name[..end]);
            rest = &name[end..];
        }
    }
    (!out.is_empty()).then_some(out)
}

/// The steps as the genuine server appends them: keys of maps are in brackets.
fn suffix(schema: &Value, steps: &[&str]) -> Box<str> {
    let (mut out, mut doc) = (String::from("."), schema);
    for (i, name) in steps.iter().enumerate() {
        let property = doc["properties"].get(*name);
        match property {
            Some(_) if i > 0 => out += &format!(".{name}"),
            Some(_) => out += name,
            None => out += &format!("[{name}]"),
        }
        doc = property.unwrap_or(&doc["additionalProperties"]);
    }
    out.into()
}

/// The path in errors: `<nil>` for the root.
pub(super) fn shown_path(path: &str) -> &str {
    if path.is_empty() { "<nil>" } else { path }
}

fn schema_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
