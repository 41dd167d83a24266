//! Without the feature `cel`, nothing with an expression is accepted: CRDs with validation rules, policies, and webhooks with match
//! conditions are refused.

use std::{collections::BTreeMap, marker::PhantomData, sync::Arc};

use serde_json::Value;

use super::{
    ErrorList, FieldError, Schema,
    error::RuleViolations,
    expression::{AccessCheck, Authorize, PolicyExpression, Returns},
    model::Field,
};

const MISSING: &str =
    "this server was built without the feature \"cel\" of kube-testserver, which evaluates expressions";
const RULES: &str = "x-kubernetes-validations";

/// No expression can be compiled.
#[derive(Debug)]
pub(crate) struct Expression(Never);

#[derive(Debug)]
enum Never {}

/// No rule can be compiled.
#[derive(Debug)]
pub(crate) enum ValidationRule {}

#[derive(Debug)]
pub(crate) struct Scope<'a>(PhantomData<&'a ()>);

#[derive(Debug)]
pub(crate) struct CelValue;

impl Expression {
    pub(crate) fn compile(_: &str) -> Result<Self, String> {
        Err(MISSING.into())
    }

    pub(crate) fn run(&self, _: &Scope<'_>) -> Result<CelValue, String> {
        match self.0 {}
    }

    pub(crate) fn holds(&self, _: &Scope<'_>) -> Result<bool, String> {
        match self.0 {}
    }

    pub(crate) fn text(&self, _: &Scope<'_>) -> Option<String> {
        match self.0 {}
    }

    pub(crate) fn json(&self, _: &Scope<'_>) -> Result<Value, String> {
        match self.0 {}
    }
}

impl PolicyExpression {
    pub(crate) fn parse(self, text: &str) -> Result<Expression, String> {
        Expression::compile(text)
    }

    pub(crate) fn check(self, _: &str, _: &[&str], _: Returns) -> Result<(), String> {
        Err(MISSING.into())
    }
}

impl Scope<'static> {
    pub(crate) fn new() -> Self {
        Self(PhantomData)
    }
}

impl Scope<'_> {
    pub(crate) fn set(&mut self, _: &str, _: CelValue) {}
}

pub(crate) fn untyped(_: &Value) -> CelValue {
    CelValue
}

pub(crate) fn cel_map(_: &BTreeMap<&str, CelValue>) -> CelValue {
    CelValue
}

pub(crate) fn authorizer(_: Arc<Authorize>, _: AccessCheck) -> CelValue {
    CelValue
}

impl Schema {
    pub(crate) fn check_rules(&self, _: &Value, _: Option<&Value>, _: &[FieldError]) -> RuleViolations {
        RuleViolations::default()
    }
}

pub(super) fn rules_of(_: &Value) -> Vec<ValidationRule> {
    Vec::new()
}

pub(super) fn check_place(_: &Field, _: &Value, _: Option<&Value>) -> ErrorList {
    ErrorList::default()
}

/// Refuses every rule of a schema.
pub(super) fn check_definition(at: &str, doc: &Value) -> ErrorList {
    let mut errors = ErrorList::default();
    if doc.get(RULES).and_then(Value::as_array).is_some_and(|rules| !rules.is_empty()) {
        errors.forbidden(format!("{at}.{RULES}"), MISSING);
    }
    for (name, property) in doc.get("properties").and_then(Value::as_object).into_iter().flatten() {
        errors.extend(check_definition(&format!("{at}.properties[{name}]"), property));
    }
    for part in ["additionalProperties", "items"] {
        if let Some(below @ Value::Object(_)) = doc.get(part) {
            errors.extend(check_definition(&format!("{at}.{part}"), below));
        }
    }
    errors
}
