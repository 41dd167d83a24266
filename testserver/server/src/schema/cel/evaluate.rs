//! Evaluates the rules of a schema on an object.

use std::sync::Arc;

use kube_cel::cel::{Value as Cel, objects::OptionalValue};
use serde_json::Value;

use super::{Scope, ValidationRule, rule::shown_path, value};
use crate::schema::{
    ErrorList, FieldError, Schema,
    error::RuleViolations,
    model::{Field, Node},
    path::Path,
    validate::lists::correlated,
};

/// The cost budget of one object, so that no schema blocks the server.
pub(super) const BUDGET: u64 = 10_000_000;
/// Errors after which rules are not evaluated, because they could access missing or wrong values.
const BLOCKING: [&str; 5] = [
    "FieldValueRequired",
    "FieldValueTypeInvalid",
    "FieldValueTooLong",
    "FieldValueTooMany",
    "FieldValueNotSupported",
];

impl Schema {
    /// Evaluates the rules; `errors` are those of the other validations. `old` is the object that is replaced: transition rules apply only
    /// with it.
    pub(crate) fn check_rules(
        &self,
        object: &Value,
        old: Option<&Value>,
        errors: &[FieldError],
    ) -> RuleViolations {
        if !self.root().node().ruled {
            return RuleViolations::default();
        }
        if errors.iter().any(|error| BLOCKING.contains(&error.reason)) {
            let why = "some validation rules were not checked because the object was invalid; correct the existing \
                       errors to complete validation";
            let mut violations = RuleViolations::default();
            violations.errors.invalid("<nil>", "null", why);
            return violations;
        }
        walk(self.root(), object, old)
    }
}

/// Evaluates the rules of a field and of nested fields.
pub(in crate::schema) fn field(field: &Field, value: &Value, old: Option<&Value>) -> ErrorList {
    walk(field, value, old).errors
}

fn walk(field: &Field, value: &Value, old: Option<&Value>) -> RuleViolations {
    let mut walk = RuleWalk { violations: RuleViolations::default(), budget: BUDGET };
    walk.field(field, value, old, &Path::Root);
    walk.violations
}

struct RuleWalk {
    violations: RuleViolations,
    budget: u64,
}

impl RuleWalk {
    fn field(&mut self, field: &Field, value: &Value, old: Option<&Value>, path: &Path<'_>) {
        let node = field.node();
        if !node.ruled || value.is_null() || self.budget == 0 {
            return;
        }
        let old = old.filter(|old| !old.is_null());
        if let Some(rules) = node.rules.as_ref().filter(|rules| !rules.cel.is_empty()) {
            self.own(field, &rules.cel, value, old, path);
        }
        match value {
            Value::Object(members) => {
                for (name, value) in members {
                    let old = old.and_then(|old| old.get(name));
                    if let Some(inner) = node.properties.get(name.as_str()) {
                        self.field(inner, value, old, &path.member(name));
                    } else if let Some(inner) = &node.additional {
                        // A key of a map is formatted differently from a property.
                        let at = format!("{path}[{name}]");
                        self.field(inner, value, old, &Path::Root.member(&at));
                    }
                }
            }
            Value::Array(items) => self.items(node, items, old, path),
            _ => {}
        }
    }

    fn items(&mut self, node: &Node, items: &[Value], old: Option<&Value>, path: &Path<'_>) {
        let Some(inner) = node.items.as_deref().filter(|inner| inner.node().ruled) else { return };
        let before = old.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        for (at, item) in items.iter().enumerate() {
            self.field(inner, item, correlated(node, before, item), &path.element(at));
        }
    }

    fn own(
        &mut self,
        field: &Field,
        rules: &[ValidationRule],
        value: &Value,
        old: Option<&Value>,
        path: &Path<'_>,
    ) {
        let mut scope = Scope::new();
        scope.set("self", value::typed(field, value));
        let former = old.filter(|_| rules.iter().any(|rule| rule.transition));
        let former = former.map(|old| value::typed(field, &value::aligned(field, old, value)));
        for rule in rules {
            if rule.transition && old.is_none() && !rule.optional_old {
                continue;
            }
            if rule.transition {
                scope.set("oldSelf", old_self(rule, former.clone()));
            }
            let violation = rule.violation(&scope, value, &path.to_string());
            self.budget = self.budget.saturating_sub(scope.cost());
            if self.budget == 0 {
                let why = "validation failed due to running out of cost budget, no further validation rules will be run";
                self.violations.errors.forbidden(shown_path(&path.to_string()), why);
                return;
            }
            match !rule.transition && old == Some(value) {
                true => self.violations.ratcheted.extend(violation),
                false => self.violations.errors.extend(violation),
            }
        }
    }
}

fn old_self(rule: &ValidationRule, former: Option<Cel>) -> Cel {
    match (rule.optional_old, former) {
        (false, Some(value)) => value,
        (false, None) => Cel::Null,
        (true, Some(value)) => Cel::Opaque(Arc::new(OptionalValue::of(value))),
        (true, None) => Cel::Opaque(Arc::new(OptionalValue::none())),
    }
}
