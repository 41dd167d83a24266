//! The rules of a schema, applied to an object.

use std::sync::Arc;

use kube_cel::cel::{Value as Cel, objects::OptionalValue};
use serde_json::Value;

use super::{Scope, ValidationRule, rule::shown_path, value};
use crate::schema::{
    FieldError, Schema,
    model::{Field, Node},
    path::Path,
    validate::correlated,
};

/// The steps that the rules of one object may take together, so that no schema makes the server hang.
const BUDGET: u64 = 10_000_000;
/// Errors after which rules would look at what is not there, or is something else.
const BLOCKING: [&str; 4] =
    ["FieldValueRequired", "FieldValueTypeInvalid", "FieldValueTooLong", "FieldValueTooMany"];

/// What rules object to.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct RuleViolations {
    pub(crate) errors: Vec<FieldError>,
    /// In places that have not changed, which were let in under earlier rules: the client is warned of them.
    pub(crate) ratcheted: Vec<FieldError>,
}

impl Schema {
    /// What the rules object to, given what the rest of the schema did. `old` is what the object replaces: rules about
    /// changes hold only then.
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
            return RuleViolations {
                errors: vec![FieldError::invalid("<nil>", "null", why)],
                ratcheted: Vec::new(),
            };
        }
        walk(self.root(), object, old)
    }
}

/// The rules of one place and of all below.
pub(in crate::schema) fn place(field: &Field, value: &Value, old: Option<&Value>) -> Vec<FieldError> {
    walk(field, value, old).errors
}

fn walk(field: &Field, value: &Value, old: Option<&Value>) -> RuleViolations {
    let mut walk = RuleWalk { found: RuleViolations::default(), budget: BUDGET };
    walk.place(field, value, old, &Path::Root);
    walk.found
}

struct RuleWalk {
    found: RuleViolations,
    budget: u64,
}

impl RuleWalk {
    fn place(&mut self, field: &Field, value: &Value, old: Option<&Value>, path: &Path<'_>) {
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
                let before = old.filter(|_| !node.atomic);
                for (name, value) in members {
                    let old = before.and_then(|old| old.get(name));
                    if let Some(inner) = node.properties.get(name.as_str()) {
                        self.place(inner, value, old, &path.member(name));
                    } else if let Some(inner) = &node.additional {
                        self.place(inner, value, old, &path.key(name));
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
            self.place(inner, item, correlated(node, before, item), &path.element(at));
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
            if !self.afford(rule, value, old) {
                let why = "validation failed due to running out of cost budget, no further validation rules will be run";
                self.found.errors.push(FieldError::forbidden(shown_path(&path.to_string()), why));
                return;
            }
            let violation = rule.violation(&scope, value, &path.to_string());
            match !rule.transition && old == Some(value) {
                true => self.found.ratcheted.extend(violation),
                false => self.found.errors.extend(violation),
            }
        }
    }

    /// Takes what a rule may cost from the budget.
    fn afford(&mut self, rule: &ValidationRule, value: &Value, old: Option<&Value>) -> bool {
        let lengths = || value::longest(value).max(old.map_or(0, value::longest));
        let longest = if rule.expression.has_loops() { lengths() } else { 0 };
        match self.budget.checked_sub(rule.expression.cost(longest)) {
            Some(left) if left > 0 => self.budget = left,
            _ => self.budget = 0,
        }
        self.budget > 0
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
