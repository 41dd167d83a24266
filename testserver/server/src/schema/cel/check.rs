//! Validation of the rules of a new schema, with the messages of the genuine server.

use serde_json::{Value, json};

use super::{
    Expression, cost,
    rule::{REASONS, steps},
    typing::{self, Refusal, Wanted},
};
use crate::schema::{
    FieldError,
    model::Field,
    parse::{self, Extent},
};

/// Checks the rules of a structural schema whose path is `at`.
pub(in crate::schema) fn check(at: &str, doc: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    below(&mut errors, at, doc, Extent::Resource, None);
    errors.extend(cost::check(at, doc));
    errors
}

/// `loose` is the path of the enclosing list or map whose elements cannot be correlated with old ones.
fn below(errors: &mut Vec<FieldError>, at: &str, doc: &Value, extent: Extent, loose: Option<&str>) {
    let rules = doc.get("x-kubernetes-validations").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    if !rules.is_empty() {
        let field = parse::field(doc, extent);
        for (i, rule) in rules.iter().enumerate() {
            let at = format!("{at}.x-kubernetes-validations[{i}]");
            Check { errors, at: &at, rule, doc, field: &field }.run(loose);
        }
    }
    let atomic = doc.get("x-kubernetes-map-type").and_then(Value::as_str) == Some("atomic");
    let inner = if atomic { loose.or(Some(at)) } else { loose };
    for (name, property) in doc.get("properties").and_then(Value::as_object).into_iter().flatten() {
        below(errors, &format!("{at}.properties[{name}]"), property, Extent::Part, inner);
    }
    if let Some(value @ Value::Object(_)) = doc.get("additionalProperties") {
        below(errors, &format!("{at}.additionalProperties"), value, Extent::Part, inner);
    }
    if let Some(items @ Value::Object(_)) = doc.get("items") {
        let told_apart = doc.get("x-kubernetes-list-type").and_then(Value::as_str) == Some("map");
        let inner = if told_apart { loose } else { loose.or(Some(at)) };
        below(errors, &format!("{at}.items"), items, Extent::Part, inner);
    }
}

struct Check<'a> {
    errors: &'a mut Vec<FieldError>,
    at: &'a str,
    rule: &'a Value,
    doc: &'a Value,
    field: &'a Field,
}

impl Check<'_> {
    fn run(&mut self, loose: Option<&str>) {
        let text = |name: &str| self.rule.get(name).and_then(Value::as_str);
        let (rule, message) = (text("rule").unwrap_or_default(), text("message"));
        let at = |name: &str| format!("{}.{name}", self.at);
        if rule.trim().is_empty() {
            self.errors.push(FieldError::required(at("rule"), "rule is not specified"));
            return;
        }
        match message {
            Some(message) if !message.is_empty() && message.trim().is_empty() => {
                let shown = format!("{message:?}");
                self.errors.push(FieldError::invalid(at("message"), shown, "must be non-empty if specified"));
            }
            Some(message) if message.contains(['\n', '\r']) => {
                let shown = format!("{message:?}");
                self.errors.push(FieldError::invalid(at("message"), shown, "must not contain line breaks"));
            }
            None | Some("") if rule.contains(['\n', '\r']) => {
                let why = "message must be specified if rule contains line breaks";
                self.errors.push(FieldError::required(at("message"), why));
            }
            _ => {}
        }
        if let Some(reason) = text("reason").filter(|reason| !REASONS.contains(reason)) {
            let supported = REASONS.map(|reason| format!("{reason:?}"));
            self.errors.push(FieldError::not_supported(at("reason"), format!("{reason:?}"), &supported));
        }
        if let Some(path) = text("fieldPath").filter(|path| !path.is_empty()) {
            let shown = format!("{path:?}");
            if !self.leads_somewhere(path) {
                self.errors.push(FieldError::invalid(at("fieldPath"), &shown, "must be a valid path"));
            }
            if path.contains(['\n', '\r']) {
                self.errors.push(FieldError::invalid(at("fieldPath"), shown, "must not contain line breaks"));
            }
        }
        self.expressions(rule, loose);
    }

    fn expressions(&mut self, rule: &str, loose: Option<&str>) {
        let optional_old = &self.rule["optionalOldSelf"];
        let at = format!("{}.rule", self.at);
        let compiled = self.compiled(rule, Wanted::Bool);
        let transition = compiled.as_ref().is_ok_and(|expression| expression.mentions("oldSelf"));
        match compiled {
            Err(Refusal::Schema) => {
                let why = "Internal error: internal error: failed to construct type information for \
                    x-kubernetes-validations rules: unable to convert structural schema to CEL declarations";
                let at = self.at.rsplit_once('[').map_or(self.at, |(at, _)| at);
                self.errors.push(FieldError::new(at, "InternalError", why));
                return;
            }
            Err(refusal) => self.refuse(at, "", Wanted::Bool, refusal),
            Ok(_) => {
                if let Some(list) = loose.filter(|_| transition) {
                    let why = format!(
                        "oldSelf cannot be used on the uncorrelatable portion of the schema within {list}"
                    );
                    self.errors.push(FieldError::invalid(at, Value::from(rule), &why));
                }
            }
        }
        if optional_old.is_boolean() && !transition {
            let why = "may not be set if oldSelf is not used in rule";
            self.errors.push(FieldError::invalid(format!("{}.optionalOldSelf", self.at), optional_old, why));
        }
        self.message_expression();
    }

    fn message_expression(&mut self) {
        let text = self.rule["messageExpression"].as_str().unwrap_or_default();
        let at = format!("{}.messageExpression", self.at);
        if text.is_empty() {
        } else if text.trim().is_empty() {
            let why = "messageExpression must be non-empty if specified";
            self.errors.push(FieldError::required(at, why));
        } else if let Err(refusal) = self.compiled(text, Wanted::String) {
            self.refuse(at, "messageExpression ", Wanted::String, refusal);
        }
    }

    fn refuse(&mut self, at: String, what: &str, wanted: Wanted, refusal: Refusal) {
        let why = match refusal {
            Refusal::Compilation(why) => format!("{what}compilation failed: {why}"),
            Refusal::Instantiation(why) => format!("{what}program instantiation failed: {why}"),
            Refusal::Result | Refusal::Schema => wanted.refusal().into(),
        };
        self.errors.push(FieldError::invalid(at, self.shown(), &why));
    }

    fn compiled(&self, text: &str, wanted: Wanted) -> Result<Expression, Refusal> {
        let optional_old = self.rule["optionalOldSelf"] == true;
        let expression = Expression::compile(text).map_err(Refusal::Compilation)?;
        typing::check(text, expression.ast(), self.field, wanted, optional_old)?;
        Ok(expression)
    }

    /// Whether a `fieldPath` is in the schema.
    fn leads_somewhere(&self, path: &str) -> bool {
        let Some(steps) = steps(path) else { return false };
        let mut doc = self.doc;
        for name in steps {
            let property = doc.get("properties").and_then(|properties| properties.get(name));
            let values = doc.get("additionalProperties").filter(|values| values.is_object());
            let next = property.or(values);
            let Some(next) = next else { return false };
            doc = next;
        }
        true
    }

    /// The rule as the genuine server prints it.
    fn shown(&self) -> String {
        let member =
            |name: &'static str, none: Value| (name, self.rule.get(json_name(name)).cloned().unwrap_or(none));
        let members = [
            member("Rule", json!("")),
            member("Message", json!("")),
            member("MessageExpression", json!("")),
            member("Reason", Value::Null),
            member("FieldPath", json!("")),
            member("OptionalOldSelf", Value::Null),
        ];
        let members: Vec<String> =
            members.iter().map(|(name, value)| format!("\"{name}\":{}", escaped_json(value))).collect();
        format!("{{{}}}", members.join(","))
    }
}

fn json_name(go_name: &str) -> String {
    let (first, rest) = go_name.split_at(1);
    first.to_lowercase() + rest
}

/// Go's JSON, which escapes what HTML gives a meaning.
fn escaped_json(value: &Value) -> String {
    value.to_string().replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}
