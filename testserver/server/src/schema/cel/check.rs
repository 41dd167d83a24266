//! Validation of the rules of a new schema, with the messages of the genuine server.

use serde_json::{Value, json};

use super::{
    Expression,
    cost::{Costs, Occurrences},
    rule::{REASONS, steps},
    typing::{self, Refusal, Wanted},
};
use crate::schema::{
    ErrorList, FieldError,
    model::Field,
    parse::{self, Extent},
};

/// Checks the rules of a structural schema whose path is `at`.
pub(in crate::schema) fn check(at: &str, doc: &Value) -> ErrorList {
    let mut walk = Walk::default();
    walk.below(at, doc, Extent::Resource, Around { loose: None, times: Occurrences::ONE });
    let mut errors = walk.errors;
    errors.extend(walk.costs.errors(at));
    errors
}

#[derive(Default)]
struct Walk {
    errors: ErrorList,
    costs: Costs,
}

/// What the enclosing schemas say about a part of a schema.
#[derive(Clone, Copy)]
struct Around<'a> {
    /// The path of the enclosing list or map whose elements cannot be correlated with old ones.
    loose: Option<&'a str>,
    times: Occurrences,
}

impl Walk {
    fn below(&mut self, at: &str, doc: &Value, extent: Extent, around: Around<'_>) {
        let Around { loose, times } = around;
        let rules =
            doc.get("x-kubernetes-validations").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        if !rules.is_empty() {
            let field = parse::field(doc, extent);
            for (i, rule) in rules.iter().enumerate() {
                let at = format!("{at}.x-kubernetes-validations[{i}]");
                Check { walk: self, at: &at, rule, doc, field: &field, times }.run(loose);
            }
        }
        for (name, property) in doc.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let inner = Around { loose, times };
            self.below(&format!("{at}.properties[{name}]"), property, Extent::Part, inner);
        }
        if let Some(value @ Value::Object(_)) = doc.get("additionalProperties") {
            let inner = Around { loose, times: times.of_each(doc["maxProperties"].as_u64()) };
            self.below(&format!("{at}.additionalProperties"), value, Extent::Part, inner);
        }
        if let Some(items @ Value::Object(_)) = doc.get("items") {
            let told_apart = doc.get("x-kubernetes-list-type").and_then(Value::as_str) == Some("map");
            let inner = if told_apart { loose } else { loose.or(Some(at)) };
            let inner = Around { loose: inner, times: times.of_each(doc["maxItems"].as_u64()) };
            self.below(&format!("{at}.items"), items, Extent::Part, inner);
        }
    }
}

struct Check<'a> {
    walk: &'a mut Walk,
    at: &'a str,
    rule: &'a Value,
    doc: &'a Value,
    field: &'a Field,
    times: Occurrences,
}

impl Check<'_> {
    fn run(&mut self, loose: Option<&str>) {
        let text = |name: &str| self.rule.get(name).and_then(Value::as_str);
        let (rule, message) = (text("rule").unwrap_or_default(), text("message"));
        let at = |name: &str| format!("{}.{name}", self.at);
        if rule.trim().is_empty() {
            self.walk.errors.required(at("rule"), "rule is not specified");
            return;
        }
        match message {
            Some(message) if !message.is_empty() && message.trim().is_empty() => {
                let quoted_message = format!("{message:?}");
                self.walk.errors.invalid(at("message"), quoted_message, "must be non-empty if specified");
            }
            Some(message) if message.contains(['\n', '\r']) => {
                let quoted_message = format!("{message:?}");
                self.walk.errors.invalid(at("message"), quoted_message, "must not contain line breaks");
            }
            None | Some("") if rule.contains(['\n', '\r']) => {
                let why = "message must be specified if rule contains line breaks";
                self.walk.errors.required(at("message"), why);
            }
            _ => {}
        }
        if let Some(reason) = text("reason").filter(|reason| !REASONS.contains(reason)) {
            self.walk.errors.not_supported(at("reason"), format!("{reason:?}"), &REASONS);
        }
        if let Some(path) = text("fieldPath").filter(|path| !path.is_empty()) {
            let quoted_path = format!("{path:?}");
            if !self.leads_somewhere(path) {
                self.walk.errors.invalid(at("fieldPath"), &quoted_path, "must be a valid path");
            }
            if path.contains(['\n', '\r']) {
                self.walk.errors.invalid(at("fieldPath"), quoted_path, "must not contain line breaks");
            }
        }
        self.expressions(rule, loose);
    }

    fn expressions(&mut self, rule: &str, loose: Option<&str>) {
        let optional_old = &self.rule["optionalOldSelf"];
        let at = format!("{}.rule", self.at);
        let compiled = self.compiled(rule, &at, Wanted::Bool);
        let transition = compiled.as_ref().is_ok_and(|expression| expression.mentions("oldSelf"));
        match compiled {
            Err(Refusal::Schema) => {
                let why = "Internal error: internal error: failed to construct type information for \
                    x-kubernetes-validations rules: unable to convert structural schema to CEL declarations";
                let at = self.at.rsplit_once('[').map_or(self.at, |(at, _)| at);
                self.walk.errors.push(FieldError::new(at, "InternalError", why));
                return;
            }
            Err(refusal) => self.refuse(at, "", Wanted::Bool, refusal),
            Ok(_) => {
                if let Some(list) = loose.filter(|_| transition) {
                    let why = format!(
                        "oldSelf cannot be used on the uncorrelatable portion of the schema within {list}"
                    );
                    self.walk.errors.invalid(at, Value::from(rule), &why);
                }
            }
        }
        if optional_old.is_boolean() && !transition {
            let why = "may not be set if oldSelf is not used in rule";
            self.walk.errors.invalid(format!("{}.optionalOldSelf", self.at), optional_old, why);
        }
        self.message_expression();
    }

    fn message_expression(&mut self) {
        let text = self.rule["messageExpression"].as_str().unwrap_or_default();
        let at = format!("{}.messageExpression", self.at);
        if text.is_empty() {
        } else if text.trim().is_empty() {
            self.walk.errors.required(at, "messageExpression must be non-empty if specified");
        } else if let Err(refusal) = self.compiled(text, &at, Wanted::String) {
            self.refuse(at, "messageExpression ", Wanted::String, refusal);
        }
    }

    fn refuse(&mut self, at: String, what: &str, expected_type: Wanted, refusal: Refusal) {
        let why = match refusal {
            Refusal::Compilation(why) => format!("{what}compilation failed: {why}"),
            Refusal::Instantiation(why) => format!("{what}program instantiation failed: {why}"),
            Refusal::Result | Refusal::Schema => expected_type.refusal().into(),
        };
        self.walk.errors.invalid(at, self.shown(), &why);
    }

    fn compiled(&mut self, text: &str, at: &str, expected_type: Wanted) -> Result<Expression, Refusal> {
        let optional_old = self.rule["optionalOldSelf"] == true;
        let expression = Expression::compile(text).map_err(Refusal::Compilation)?;
        let types = typing::check(text, &expression, self.field, expected_type, optional_old)?;
        self.walk.costs.add(at, &expression.expanded().ast, &types, self.doc, self.times);
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
